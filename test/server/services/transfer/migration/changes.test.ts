// Differences between two trees, detected and applied: laws, and malicious streams.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { assert, asyncProperty, constantFrom, dictionary, letrec, oneof } from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unpackTree, writeTo } from '../../../../../server/drivers/storage/trees/stream.ts';
import { readMembers } from '../../../../../server/services/transfer/migration/tar-members.ts';
import {
  applyChanges,
  changedMembers,
  packListing,
  removedNames,
  unpackListing,
  type Listing,
} from '../../../../../server/services/transfer/migration/tree-changes.ts';
import { describeTree } from '../../../../support/daemons/two-daemons.ts';
import { pax, tarOf } from '../../../../support/images/hostile.ts';

let work: string;
let count = 0;
beforeAll(() => {
  // Both trees list their names in the same order here, as two trees in memory do not: then the same name is the first of a hard link.
  work = mkdtempSync('/var/tmp/gtya-changes-');
});
afterAll(() => rmSync(work, { recursive: true, force: true }));
const fresh = (): string => {
  const path = join(work, String((count += 1)));
  mkdirSync(path);
  return path;
};

const never = new AbortController().signal;
const asRoot = process.getuid?.() === 0;
const tar = (path: string): Buffer =>
  execFileSync('tar', ['--create', '--file=-', '--format=posix', '--sparse', `--directory=${path}`, '.'], {
    maxBuffer: 1e8,
  });
const streamOf = (bytes: Buffer): AsyncIterable<Buffer> => Readable.from([bytes]);

async function listingOf(path: string): Promise<Listing> {
  const listing = new Map<string, string>();
  for await (const { name, print } of readMembers(streamOf(tar(path)))) listing.set(name, print);
  return listing;
}

async function collect(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Brings `to` up to date with `from`; resolves to the number of transferred bytes. */
async function sync(from: string, to: string): Promise<number> {
  const base = await listingOf(to);
  const seen = new Set<string>();
  const changed = await collect(changedMembers(streamOf(tar(from)), base, seen));
  await apply(to, base, changed, removedNames(base, seen));
  return changed.length;
}

function apply(to: string, base: Listing, changed: Buffer, removed: readonly string[]): Promise<void> {
  const unpack = (bytes: AsyncIterable<Buffer>): Promise<void> => writeTo(unpackTree(to, '.', asRoot), bytes, never);
  return applyChanges({ path: to, unpack }, base, streamOf(changed), () => Promise.resolve(removed));
}

type Node = { readonly [name: string]: Node | string };
const names = constantFrom('a', 'b', 'c', 'ü', ' ');
const { tree } = letrec<{ tree: Node; entry: Node | string }>((tie) => ({
  entry: oneof(
    { depthSize: 'small' },
    constantFrom('file: one', 'file: two', 'link: a', 'link: /etc/passwd', 'hard'),
    tie('tree'),
  ),
  tree: dictionary(names, tie('entry'), { maxKeys: 4 }),
}));

function plantNode(path: string, node: Node, first: { path?: string }): void {
  for (const [name, entry] of Object.entries(node)) {
    const at = join(path, name);
    if (typeof entry !== 'string') {
      mkdirSync(at);
      plantNode(at, entry, first);
    } else if (entry.startsWith('link: ')) symlinkSync(entry.slice(6), at);
    else if (entry === 'hard' && first.path !== undefined) execFileSync('ln', [first.path, at]);
    else {
      writeFileSync(at, entry);
      // Within one tick of the kernel's clock a file can change and keep its time: that change is not detected.
      utimesSync(at, 1e9, 1e9 + (entry.at(-1)?.charCodeAt(0) ?? 0));
      first.path = at;
    }
  }
}

test('any tree becomes any other tree, and a second transfer has only directories and hard links', async () => {
  await assert(
    asyncProperty(tree, tree, async (one, two) => {
      const [from, to] = [fresh(), fresh()];
      plantNode(from, one, {});
      plantNode(to, two, {});
      await sync(from, to);
      expect(describeTree(to)).toBe(describeTree(from));
      const again = new Set<string>();
      const changed = await collect(changedMembers(streamOf(tar(from)), await listingOf(to), again));
      for await (const { flag } of readMembers(Readable.from([changed, Buffer.alloc(1024)])))
        expect('15').toContain(flag);
      expect(removedNames(await listingOf(to), again)).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

test('lists of names survive any cut into chunks, and an early end is noticed', async () => {
  const listing = new Map([
    ['', '5x'],
    ['a\nb', '0y'],
    ['\u00ff', ''],
  ]);
  const bytes = await collect(packListing(listing));
  for (let at = 0; at <= bytes.length; at += 1)
    expect(
      await unpackListing(Readable.from([bytes.subarray(0, at), bytes.subarray(at)].filter((one) => one.length > 0))),
    ).toEqual(listing);
  await expect(unpackListing(streamOf(bytes.subarray(0, -2)))).rejects.toThrow('cut off');
});

describe('a malicious stream', () => {
  const outside = (): string => {
    const path = fresh();
    writeFileSync(join(path, 'victim'), 'safe');
    return path;
  };
  /** The output of tar for a script; without end mark. */
  const archive = (script: string): Buffer => {
    const path = fresh();
    execFileSync('sh', ['-ec', script, 'sh'], { cwd: path });
    return readFileSync(join(path, 'out.tar'));
  };
  const withoutEnd = async (bytes: Buffer): Promise<Buffer> =>
    collect(changedMembers(streamOf(bytes), new Map(), new Set()));

  test.each([
    ['leads up', 'echo x > f; tar -cPf out.tar --format=posix --transform="s,f,../victim," f', /is called/],
    ['is absolute', 'echo x > f; tar -cPf out.tar --format=posix --transform="s,f,/tmp/f," f', /is called/],
    [
      'has a member in no directory',
      'mkdir d; echo x > d/f; tar -cf out.tar --format=posix --no-recursion . d/f',
      /in no directory/,
    ],
    [
      'has a member twice',
      'echo x > f; tar -cf out.tar --format=posix --no-recursion . f f --hard-dereference',
      /twice/,
    ],
    [
      'links to nothing there',
      'echo x > f; ln f g; tar -cf out.tar --format=posix --no-recursion . f g --transform="flags=h;s,f,h,"',
      /links to no file/,
    ],
    [
      'comes in another format',
      'n=$(printf "%0200d" 1); echo x > $n; tar -cf out.tar --format=gnu --no-recursion . $n',
      /unknown kind/,
    ],
  ])('%s', async (_what, script, text) => {
    const to = fresh();
    await expect(
      withoutEnd(archive(script)).then((bytes) => apply(to, new Map([['', '5']]), bytes, [])),
    ).rejects.toThrow(text);
  });

  test('follows a link in the tree', async () => {
    const [to, there] = [fresh(), outside()];
    symlinkSync(there, join(to, 'd'));
    const base = await listingOf(to);
    const bytes = await withoutEnd(
      archive('mkdir d; echo x > d/victim; tar -cf out.tar --format=posix --no-recursion . d/victim'),
    );
    await expect(apply(to, base, bytes, [])).rejects.toThrow('in no directory');
    // A directory of that name replaces the link.
    const honest = await withoutEnd(archive('mkdir d; echo x > d/victim; tar -cf out.tar --format=posix ./d'));
    const rooted = await withoutEnd(archive('tar -cf out.tar --format=posix --exclude=out.tar .'));
    await apply(to, base, Buffer.concat([rooted, honest]), []);
    expect(readFileSync(join(there, 'victim'), 'utf8')).toBe('safe');
    expect(readFileSync(join(to, 'd/victim'), 'utf8')).toBe('x\n');
  });

  test('removes names that are elsewhere or missing', async () => {
    const [to, there] = [fresh(), outside()];
    mkdirSync(join(to, 'd'));
    writeFileSync(join(to, 'd/victim'), 'goes');
    const base = await listingOf(to);
    // The directory becomes a link; its contents are not removed through the link.
    const bytes = await withoutEnd(archive(`ln -s ${there} d; tar -cf out.tar --format=posix --exclude=out.tar .`));
    await apply(to, base, bytes, ['d/victim', '../victim', '/etc/none', '']);
    expect(readFileSync(join(there, 'victim'), 'utf8')).toBe('safe');
    expect(existsSync(to)).toBe(true);
  });

  test('has names without end, which are not kept in memory', async () => {
    const long = (length: number): Buffer => tarOf(pax({ path: 'n'.repeat(length) }), { name: 'n' });
    await expect(withoutEnd(long(4096)).then((bytes) => bytes.length)).resolves.toBeGreaterThan(0);
    await expect(withoutEnd(long(4097))).rejects.toThrow(/a name of 4097 bytes/);
    let sent = 0;
    async function* endless(first: string): AsyncGenerator<Buffer> {
      yield Buffer.from(first);
      for (; sent < 100; sent += 1) yield Buffer.alloc(65_536, 'a');
    }
    for (const first of ['', '\0']) await expect(unpackListing(endless(first))).rejects.toThrow(/list of files/);
    expect(sent).toBeLessThan(3);
  });

  test('has more names than are kept in memory', async () => {
    const to = fresh();
    async function* endless(): AsyncGenerator<Buffer> {
      yield tarOf({ name: './', flag: '5' }).subarray(0, -1024);
      for (let count = 0; ; count += 1)
        yield tarOf(pax({ path: `${count}-${'n'.repeat(4000)}` }), { name: 'n', flag: '1', link: 'none' }).subarray(
          0,
          -1024,
        );
    }
    const base = new Map([
      ['', '5'],
      ['none', '0'],
    ]);
    const unread = { path: to, unpack: async (bytes: AsyncIterable<Buffer>) => void (await collect(bytes)) };
    await expect(applyChanges(unread, base, endless(), () => Promise.resolve([]))).rejects.toThrow(/too many files/);
  });

  test('is cut off or is not an archive', async () => {
    const bytes = archive('echo x > f; tar -cf out.tar --format=posix --exclude=out.tar .');
    for (const broken of [bytes.subarray(0, 700), Buffer.alloc(512, 'x'), Buffer.alloc(100)])
      await expect(withoutEnd(broken)).rejects.toThrow(/the archive of files/);
  });
});
