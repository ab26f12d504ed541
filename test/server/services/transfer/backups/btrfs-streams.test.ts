// Streams of btrfs in backups: hostile ones are refused command by command, real ones are received unchanged.
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, readlink, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import type { PoolSpec, TreeRef } from '../../../../../server/drivers/storage/driver.ts';
import { createStreamChain, type StreamChain } from '../../../../../server/services/transfer/backups/send-stream.ts';
import { rangeOf } from '../../../../../server/http/byte-range.ts';
import { openBtrfsFixture } from '../../../../support/drivers/storage-btrfs.ts';

const why = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (why !== undefined) console.log(`skipped: streams of a real btrfs: ${why}`);

type Attributes = Readonly<Record<number, string | Buffer>>;
const numbers = {
  subvolume: 1,
  snapshot: 2,
  mkfile: 3,
  mkdir: 4,
  mknod: 5,
  mkfifo: 6,
  symlink: 8,
  rename: 9,
  link: 10,
  unlink: 11,
  rmdir: 12,
  setXattr: 13,
  write: 15,
  clone: 16,
  truncate: 17,
  chmod: 18,
  chown: 19,
  utimes: 20,
  end: 21,
  updateExtent: 22,
} as const;
const [uuid, rdev, path, pathTo, pathLink, data, cloneUuid, clonePath] = [1, 8, 15, 16, 17, 19, 20, 22] as const;

function command(name: keyof typeof numbers | number, attributes: Attributes = {}): Buffer {
  const body = Object.entries(attributes).map(([type, value]) => {
    const bytes = Buffer.from(value);
    const head = Buffer.alloc(4);
    head.writeUInt16LE(Number(type), 0);
    head.writeUInt16LE(bytes.length, 2);
    return Buffer.concat([head, bytes]);
  });
  const payload = Buffer.concat(body);
  const head = Buffer.alloc(10);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt16LE(typeof name === 'number' ? name : numbers[name], 4);
  return Buffer.concat([head, payload]);
}
const head = (version = 1): Buffer => Buffer.concat([Buffer.from('btrfs-stream\0'), Buffer.from([version, 0, 0, 0])]);
const id = (letter: string): string => letter.repeat(16);
const begin = (letter = 'a'): Buffer => command('subvolume', { [uuid]: id(letter), [path]: 'c' });
const streamOf = (...commands: readonly Buffer[]): Buffer => Buffer.concat([head(), ...commands, command('end')]);

/** In pieces of an odd size, as from pipes. */
async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 33) yield bytes.subarray(at, at + 33);
}
async function pass(bytes: Buffer, chain: StreamChain = createStreamChain({ allowNodes: false })): Promise<Buffer> {
  const out: Buffer[] = [];
  for await (const chunk of chain.next(pieces(bytes), 'x.bin')) out.push(chunk);
  return Buffer.concat(out);
}

const file = (name: string): Buffer => command('mkfile', { [path]: name });
const directory = (name: string): Buffer => command('mkdir', { [path]: name });
const linked = (name: string, to: string): Buffer => command('symlink', { [path]: name, [pathLink]: to });
const renamed = (from: string, to: string): Buffer => command('rename', { [path]: from, [pathTo]: to });
const wrote = (name: string): Buffer => command('write', { [path]: name, [data]: 'x' });

describe('a stream from elsewhere', () => {
  test.each<[string, Buffer, RegExp]>([
    ['that is not a stream', Buffer.from('hello, this is not a stream at all'), /is no stream of btrfs/],
    ['of another version', Buffer.concat([head(2), begin(), command('end')]), /has version 2/],
    ['that is cut off', streamOf(begin(), file('a')).subarray(0, -12), /is cut off/],
    [
      'that continues after its end',
      Buffer.concat([streamOf(begin()), Buffer.from('more')]),
      /continues after its end/,
    ],
    ['with an unknown command', streamOf(begin(), command(99)), /unknown command 99/],
    [
      'with an endless command',
      Buffer.concat([head(), Buffer.from('ffffffff0100', 'hex'), Buffer.alloc(8)]),
      /command of 4294967295 bytes/,
    ],
    ['that repeats an attribute', Buffer.concat([head(), begin(), doubled(), command('end')]), /repeated attribute/],
    ['without a volume', streamOf(file('a')), /begins with something else/],
    ['of two volumes', streamOf(begin(), begin('b')), /more than one volume/],
    ['of a volume with a path', streamOf(command('subvolume', { [uuid]: id('a'), [path]: '../c' })), /has the path/],
    [
      'of a volume in a directory',
      streamOf(command('subvolume', { [uuid]: id('a'), [path]: 'a/c' })),
      /calls its volume/,
    ],
    [
      'on a parent that is not there',
      streamOf(command('snapshot', { [uuid]: id('b'), [path]: 'c', [cloneUuid]: id('z') })),
      /not in the backup/,
    ],
    ['with ..', streamOf(begin(), file('../evil')), /has the path/],
    ['with an absolute path', streamOf(begin(), file('/etc/evil')), /has the path/],
    ['with a NUL', streamOf(begin(), file('a\0b')), /has the path/],
    ['through a link', streamOf(begin(), linked('l', '/etc'), file('l/evil')), /through link/],
    [
      'through a link that was renamed',
      streamOf(begin(), linked('o1', '/etc'), renamed('o1', 'l'), file('l/evil')),
      /through link/,
    ],
    [
      'through a link in a renamed directory',
      streamOf(begin(), directory('d'), linked('d/l', '/etc'), renamed('d', 'e'), file('e/l/evil')),
      /through link/,
    ],
    ['into a link', streamOf(begin(), linked('l', '/etc/passwd'), wrote('l')), /no plain file/],
    [
      'that truncates the target of a link',
      streamOf(begin(), linked('l', '/etc/passwd'), command('truncate', { [path]: 'l' })),
      /no plain file/,
    ],
    [
      'that opens the target of a link',
      streamOf(begin(), linked('l', '/etc/shadow'), command('chmod', { [path]: 'l' })),
      /through a link/,
    ],
    [
      'that writes to a second name of a link',
      streamOf(begin(), linked('l', '/etc/passwd'), command('link', { [path]: 'm', [pathLink]: 'l' }), wrote('m')),
      /no plain file/,
    ],
    [
      'that links to a file outside',
      streamOf(begin(), command('link', { [path]: 'm', [pathLink]: '../../etc/passwd' })),
      /has the path/,
    ],
    [
      'that links to a directory',
      streamOf(begin(), directory('d'), command('link', { [path]: 'm', [pathLink]: 'd' })),
      /links to a directory/,
    ],
    [
      'that clones from outside',
      streamOf(begin(), file('a'), command('clone', { [path]: 'a', [cloneUuid]: id('z'), [clonePath]: 'x' })),
      /not in the backup/,
    ],
    [
      'that clones through a link',
      streamOf(
        begin(),
        file('a'),
        linked('l', '/etc/shadow'),
        command('clone', { [path]: 'a', [cloneUuid]: id('a'), [clonePath]: 'l' }),
      ),
      /no plain file/,
    ],
    [
      'that puts a link where a file was',
      streamOf(begin(), file('a'), linked('l', '/etc/passwd'), renamed('l', 'a'), wrote('a')),
      /over "a"/,
    ],
    ['that moves a directory into itself', streamOf(begin(), directory('d'), renamed('d', 'd/e')), /into itself/],
    [
      'that removes a full directory',
      streamOf(begin(), directory('d'), file('d/a'), command('rmdir', { [path]: 'd' })),
      /not empty/,
    ],
    ['that makes a file twice', streamOf(begin(), file('a'), linked('a', 'b')), /twice/],
    ['that refers to a missing path', streamOf(begin(), command('utimes', { [path]: 'a' })), /does not exist/],
    [
      'with a device node',
      streamOf(begin(), command('mknod', { [path]: 'sda', [rdev]: Buffer.from([0, 8, 0, 0, 0, 0, 0, 0]) })),
      /device node "sda"/,
    ],
  ])('%s is refused', async (_what, bytes, message) => {
    await expect(pass(bytes)).rejects.toThrow(message);
  });

  test('passes when it is harmless, with separate ids', async () => {
    const bytes = streamOf(
      begin(),
      command('chown', { [path]: '' }),
      file('o1'),
      renamed('o1', 'a'),
      wrote('a'),
      command('clone', { [path]: 'a', [cloneUuid]: id('a'), [clonePath]: 'a' }),
      directory('d'),
      linked('d/l', '/etc/passwd'),
      command('chown', { [path]: 'd/l' }),
      command('mknod', { [path]: 'whiteout', [rdev]: Buffer.alloc(8) }),
      command('unlink', { [path]: 'd/l' }),
      command('rmdir', { [path]: 'd' }),
    );
    const passed = await pass(bytes);
    expect(passed.length).toBe(bytes.length);
    expect(passed.includes(id('a'))).toBe(false);
    expect((await pass(bytes)).equals(passed)).toBe(false);
    const node = command('mknod', { [path]: 'sda', [rdev]: Buffer.from([0, 8, 0, 0, 0, 0, 0, 0]) });
    await pass(streamOf(begin(), node), createStreamChain({ allowNodes: true }));
  });

  test('a stream from elsewhere that builds on an earlier one is checked against the state after that one', async () => {
    const child = (...commands: readonly Buffer[]): Buffer =>
      streamOf(command('snapshot', { [uuid]: id('b'), [path]: 'c', [cloneUuid]: id('a') }), ...commands);
    const chain = createStreamChain({ allowNodes: false });
    await pass(streamOf(begin(), linked('l', '/etc'), directory('d'), file('d/a')), chain);
    await pass(child(wrote('d/a'), file('d/b')), chain);
    await expect(pass(child(file('l/evil')), chain)).rejects.toThrow(/through link/);
    await expect(pass(child(wrote('d/none')), chain)).rejects.toThrow(/does not exist/);
  });
});

function doubled(): Buffer {
  const one = command('mkfile', { [path]: 'a' });
  const bytes = Buffer.concat([one, one.subarray(10)]);
  bytes.writeUInt32LE(2 * one.readUInt32LE(0), 0);
  return bytes;
}

describe.skipIf(why !== undefined)('a stream of a real btrfs', () => {
  test('passes and is received unchanged, complete and on top of a parent, twice into one pool', async () => {
    const fixture = await openBtrfsFixture();
    const { storage } = fixture;
    const never = new AbortController().signal;
    const volume = (name: string) => ({ type: 'container', name }) as const;
    try {
      const pool = fixture.newPool();
      const filled: PoolSpec = { ...pool, config: await storage.fillConfig(pool) };
      await storage.createPool(filled, never);
      await storage.createVolume(filled, volume('c'), { kind: 'image', image: fixture.image }, () => {}, never);
      const root = join(storage.volumePath(filled, volume('c')), 'rootfs');
      await mkdir(join(root, 'x', 'y'), { recursive: true });
      await writeFile(join(root, 'x', 'y', 'big'), Buffer.alloc(300_000, 7));
      await link(join(root, 'x', 'y', 'big'), join(root, 'hard'));
      await symlink('../../../../etc/passwd', join(root, 'soft'));
      await writeFile(join(root, 'holes'), '');
      await truncate(join(root, 'holes'), 4 * 1_048_576);
      await storage.createSnapshot(filled, { volume: volume('c'), snapshot: 's' }, { kind: 'now' }, never);
      await writeFile(join(root, 'x', 'y', 'big'), 'shorter');
      await writeFile(join(root, 'new'), Buffer.alloc(100_000, 1));
      const bytesOf = async (from: TreeRef, parent?: string): Promise<Buffer> => {
        const chunks: Buffer[] = [];
        const form = { kind: 'native', ...(parent === undefined ? {} : { parent }) } as const;
        const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
          for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
        };
        await storage.exportVolume(filled, from, form, keep, never);
        return Buffer.concat(chunks);
      };
      const streams = [
        await bytesOf({ volume: volume('c'), snapshot: 's' }),
        await bytesOf({ volume: volume('c') }, 's'),
      ] as const;
      for (const name of ['one', 'two']) {
        const chain = createStreamChain({ allowNodes: false });
        const refs: readonly TreeRef[] = [{ volume: volume(name), snapshot: 's' }, { volume: volume(name) }];
        for (const [at, ref] of refs.entries())
          await storage.importVolume(
            filled,
            ref,
            chain.next(pieces(streams[at] ?? streams[0]), 'x.bin'),
            { kind: 'native' },
            never,
          );
        const copy = join(storage.volumePath(filled, volume(name)), 'rootfs');
        expect(await readFile(join(copy, 'hard'), 'utf8')).toBe('shorter');
        expect((await stat(join(copy, 'hard'))).ino).toBe((await stat(join(copy, 'x', 'y', 'big'))).ino);
        expect(await readlink(join(copy, 'soft'))).toBe('../../../../etc/passwd');
        expect((await stat(join(copy, 'new'))).size).toBe(100_000);
        const before = join(storage.snapshotPath(filled, { volume: volume(name), snapshot: 's' }), 'rootfs');
        expect((await stat(join(before, 'hard'))).size).toBe(300_000);
      }
    } finally {
      await fixture.close();
    }
  });
});

test.each([
  [undefined, undefined],
  ['bytes=0-0', { first: 0, last: 0 }],
  ['bytes=2-', { first: 2, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-30', { first: 0, last: 9 }],
  ['bytes=8-70', { first: 8, last: 9 }],
  ['bytes=10-', undefined],
  ['bytes=5-4', undefined],
  ['bytes=-0', undefined],
  ['bytes=a-b', undefined],
] as const)('the range %s of ten bytes', (header, range) => {
  expect(rangeOf(header, 10)).toEqual(range);
});
