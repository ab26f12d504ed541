// Shifts of ids on disk that were cut off, and are continued by another start: with the same host, or one that maps ids at the mount.
import { chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { IdMapEntry } from '../../../../server/drivers/runtime/driver.ts';
import { loadLibc } from '../../../../server/drivers/runtime/host/syscalls.ts';
import { planOwners } from '../../../../server/drivers/runtime/idmap/file-owners.ts';
import { loadAttributes } from '../../../../server/drivers/runtime/idmap/owned-attributes.ts';
import { UserNamespaces } from '../../../../server/drivers/runtime/idmap/user-namespaces.ts';
import {
  canMapAt,
  mapFor,
  type FileDeps,
  type OwnedFiles,
} from '../../../../server/drivers/runtime/mounts/container-files.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const mapAt = (hostid: number): readonly IdMapEntry[] => [
  { isuid: true, isgid: true, hostid, nsid: 0, maprange: 65_536 },
];
const [a, b] = [mapAt(100_000), mapAt(300_000)];

test('files of a shift that was cut off lose the ids of every map it was between, whatever the top directory has', () => {
  const now = { unrecorded: false, unfinished: true };
  expect(planOwners({ ...now, owner: 0, maps: [[], a] }, a, true)).toEqual({ takeOut: [a], through: a });
  expect(planOwners({ ...now, owner: 100_000, maps: [a] }, a, true)).toEqual({ takeOut: [a], through: a });
  expect(planOwners({ ...now, owner: 100_000, maps: [a] }, a, false)).toEqual({ takeOut: [], putIn: a });
  expect(planOwners({ ...now, owner: 0, maps: [[], a, b] }, b, false)).toEqual({ takeOut: [a], putIn: b });
  expect(planOwners({ ...now, owner: 0, maps: [a] }, [], true)).toEqual({ takeOut: [a] });
});

const libc = process.getuid?.() === 0 ? await loadLibc() : undefined;
const namespaces = new UserNamespaces();
const mapping = { libc, namespaces, rootfsIdmapped: true };
const here = tempFolder('gcut-');
const isAble = libc !== undefined && (await canMapAt(mapping, here));
if (!isAble) console.log('skipped: shifts that were cut off, since that needs root and mounts that map ids');

describe.skipIf(!isAble)('a shift that was cut off', () => {
  afterAll(() => namespaces.close());

  const never = new AbortController().signal;
  const deps = { paths: undefined as unknown as FileDeps['paths'], log: silentLog };
  const mapper: FileDeps = { ...deps, ...mapping };
  const shifter: FileDeps = { ...deps, ...mapping, rootfsIdmapped: false };

  const makeTree = (name: string): string => {
    const root = join(here, name);
    mkdirSync(join(root, 'd'), { recursive: true });
    for (const file of ['d/root', 'd/user', 'x', 'y', 'z']) writeFileSync(join(root, file), '');
    symlinkSync('nowhere', join(root, 'link'));
    for (const file of ['d/user', 'y']) chownSync(join(root, file), 1000, 1000);
    return root;
  };
  const ownersOf = (root: string): string[] =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .map((path) => `${path} ${lstatSync(join(root, path)).uid}`)
      .toSorted();
  /** Throws at the entry of that number, as if the process was killed there. */
  const cutAt = (entry: number): AbortSignal => {
    let count = 0;
    const throwIfAborted = (): void => {
      if (count++ === entry) throw new Error('cut off');
    };
    return { throwIfAborted } as unknown as AbortSignal;
  };
  const start = (who: FileDeps, idmap: readonly IdMapEntry[], files: OwnedFiles, signal = never) =>
    mapFor(who, { name: 'c', idmap }, files, signal);
  const entries = [1, 2, 3, 4, 5, 6];

  test.each([
    ['recorded files', (): OwnedFiles['fileMaps'] => [[], a]],
    ['a volume without a record', (): OwnedFiles['fileMaps'] => undefined],
  ])('is undone by a start that maps ids at the mount: %s', async (name, fileMaps) => {
    for (const entry of entries) {
      const source = makeTree(`${name} ${entry}`);
      const before = ownersOf(source);
      const files = { source, fileMaps: fileMaps() };
      await expect(start(shifter, a, files, cutAt(entry))).rejects.toThrow('cut off');
      expect(ownersOf(source)).not.toEqual(before);
      expect(await start(mapper, a, files)).toEqual(a);
      expect(ownersOf(source)).toEqual(before);
    }
  });

  test('back to the ids of the container is made good when the container is given its old map again', async () => {
    for (const entry of entries) {
      const source = makeTree(`back ${entry}`);
      await start(shifter, a, { source, fileMaps: [[]] });
      const before = ownersOf(source);
      await expect(start(shifter, [], { source, fileMaps: [a, []] }, cutAt(entry))).rejects.toThrow('cut off');
      expect(ownersOf(source)).not.toEqual(before);
      expect(await start(shifter, a, { source, fileMaps: [a] })).toBeUndefined();
      expect(ownersOf(source)).toEqual(before);
    }
  });

  test('leaves its mark only until a start has made it good', async () => {
    const calls = await loadAttributes();
    const source = makeTree('mark');
    const mark = (): string | undefined => calls?.read(Buffer.from(source), 'trusted.gantry.shift')?.toString();
    await expect(start(shifter, a, { source, fileMaps: [[], a] }, cutAt(2))).rejects.toThrow('cut off');
    expect(mark()).toMatch(/100000/);
    await start(mapper, b, { source, fileMaps: [[], a, b] });
    expect(mark()).toBeUndefined();
    await start(shifter, a, { source, fileMaps: [[], a] });
    expect(mark()).toBeUndefined();
  });
});
