// Images as real tools and odd builders pack them, imported by the daemon: what arrives in a container is what was packed. On the
// simulation with every packing, and in real containers, seen from inside.
import { execFileSync } from 'node:child_process';
import { readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isLongRun } from '../../../support/left-out.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createContainer,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import {
  contentsOf,
  diskBytes,
  everything,
  type Kept,
  makeOddTree,
  oddTreesMissing,
  packings,
} from '../../../support/images/odd-trees.ts';
import { splitUpload } from '../../../support/images/split-upload.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const missing = oddTreesMissing();
if (missing !== undefined) console.log(`skipped: images with odd contents: ${missing}`);
const notReal = missing ?? (await realRuntimeMissing());
if (notReal !== undefined) console.log(`skipped: real containers of images with odd contents: ${notReal}`);

let work = '';
let tree = '';
beforeAll(async () => {
  if (missing !== undefined) return;
  work = await realpath(tempFolder('gtya-odd-'));
  tree = join(work, 'tree');
  await makeOddTree(tree);
});
afterAll(() => rm(work, { recursive: true, force: true }));

const expected = new Map<string, string>();
/** What the tree itself holds of this; most packings keep the same. */
function packedOf(kept: Kept): string {
  const key = `${kept.attributes} ${kept.lineBreaks}`;
  const found = expected.get(key) ?? contentsOf(join(tree, 'rootfs'), kept);
  expected.set(key, found);
  return found;
}

let count = 0;
const made = new Map<string, Promise<string>>();
/** A container of the tree packed in this way, which tests share and leave as it is. */
function imported(daemon: TestDaemon, packing: string): Promise<string> {
  const key = `${daemon.dir} ${packing}`;
  const found = made.get(key) ?? makeContainer(daemon, packing);
  made.set(key, found);
  return found;
}
async function makeContainer(daemon: TestDaemon, packing: string): Promise<string> {
  const row = packings[packing];
  if (row === undefined) throw new Error(`no packing ${packing}`);
  const name = `c${(count += 1)}`;
  const packed = row.pack(tree, join(work, name));
  const metadata = await readFile(packed.metadata);
  const upload = packed.rootfs === undefined ? undefined : splitUpload(metadata, await readFile(packed.rootfs));
  const added = await daemon.ok('POST', '/1.0/images', upload?.body ?? metadata, upload?.headers ?? {});
  expect(added.err).toBe('');
  const fingerprint = String(added.metadata?.['fingerprint']);
  await createContainer(daemon, name, { source: { type: 'image', fingerprint } });
  return name;
}
const rootOf = (daemon: TestDaemon, name: string): string =>
  join(daemon.dir, 'storage-pools/default/containers', name, 'rootfs');

describe.skipIf(missing !== undefined)('in the simulation', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded();
  });
  afterAll(() => daemon?.cleanUp());

  // Every third one in the usual run: packing and unpacking nested directories costs time.
  const tried = Object.entries(packings).filter((_, index) => isLongRun || index % 3 === 0);
  test.each(tried)('a container has what was packed as: %s', async (packing, kept) => {
    const root = rootOf(daemon, await imported(daemon, packing));
    expect(packedOf(kept).split('\n').length).toBeGreaterThan(100);
    expect(contentsOf(root, kept)).toBe(packedOf(kept));
    if (packing !== 'PAX, not sparse') expect(diskBytes(join(root, 'odd/sparse'))).toBeLessThan(1024 * 1024);
  });

  test('an image that is made of such a container holds the same', async () => {
    const name = await imported(daemon, 'PAX in zstd');
    const source = { type: 'container', name };
    const made = await daemon.ok('POST', '/1.0/images', { source, compression_algorithm: 'zstd' });
    const fingerprint = String(made.metadata?.['fingerprint']);
    await createContainer(daemon, `${name}-again`, { source: { type: 'image', fingerprint } });
    const again = rootOf(daemon, `${name}-again`);
    expect(contentsOf(again, everything)).toBe(packedOf(everything));
    expect(diskBytes(join(again, 'odd/sparse'))).toBeLessThan(1024 * 1024);
  });

  test('a backup of such a container brings the same back', async () => {
    const name = await imported(daemon, 'PAX in zstd');
    await daemon.ok('POST', `/1.0/containers/${name}/backups`, { name: 'b' });
    const { bytes } = await daemon.call('GET', `/1.0/containers/${name}/backups/b/export`);
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
    await daemon.ok('POST', '/1.0/containers', bytes, { 'content-type': 'application/octet-stream' });
    expect(contentsOf(rootOf(daemon, name), everything)).toBe(packedOf(everything));
  });
});

describe.skipIf(notReal !== undefined)('in real containers', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded({ runtime: 'lxc' });
  });
  afterAll(() => daemon?.cleanUp());

  const list = `cd /odd && find . -type f ! -name 'quote*' ! -name 'new*' -exec stat -c '%n %f %u:%g %s %h %Y' {} + | sort | sha256sum`;

  test.each(['PAX in xz', 'split, squashfs in zstd'])(
    'root of the container sees what was packed as: %s',
    async (packing) => {
      const name = await imported(daemon, packing);
      const kept = packings[packing] ?? everything;
      expect(contentsOf(rootOf(daemon, name), kept)).toBe(packedOf(kept));
      expect((await setState(daemon, name, 'start')).err).toBe('');
      const run = async (script: string): Promise<string> => {
        const ended = await daemon.ok('POST', `/1.0/containers/${name}/exec`, {
          command: ['sh', '-c', script],
          'record-output': true,
        });
        const output = ended.metadata?.['output'] as Record<string, string>;
        return (await daemon.call('GET', output['1'] ?? '')).bytes.toString().trim();
      };
      const outside = execFileSync('chroot', [join(tree, 'rootfs'), 'sh', '-c', list], { encoding: 'utf8' });
      expect(await run(list)).toBe(outside.trim());
      expect(await run('cd /odd; stat -c %u:%g owned theirs; ls null disk 2>&1 | grep -c "No such"')).toBe(
        '12345:54321\n65534:65534\n2',
      );
      await setState(daemon, name, 'stop', { force: true });
    },
  );
});
