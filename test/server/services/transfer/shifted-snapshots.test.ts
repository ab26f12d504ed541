// A snapshot that was taken while the files of its container were shifted on disk, as hosts do that cannot map ids at a mount; the files of
// the container itself have its own ids by now. What leaves for another place has the owners that the container sees.
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExportForm, TreeRef } from '../../../../server/drivers/storage/driver.ts';
import type { Saga } from '../../../../server/operations/saga.ts';
import { writeBackup } from '../../../../server/services/transfer/backups/write-backup.ts';
import { sendFiles } from '../../../../server/services/transfer/migration/container-source.ts';
import { ownersOf } from '../../../../server/services/transfer/migration/owners.ts';
import { refreshFromHere } from '../../../../server/services/transfer/migration/refresh/containers-here.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: snapshots with shifted files: it needs root');

const createdAt = '2030-01-01T00:00:00Z';
const signal = new AbortController().signal;

/** The containers `c`, with the snapshot `s`, and `copy`, in a pool whose driver notes what is asked of it. */
function scene() {
  const base = tempFolder('gantry-shifted-');
  const pathOf = ({ volume, snapshot = 'none' }: TreeRef): string => join(base, volume.name, snapshot);
  for (const [container, snapshot, owner] of [
    ['c', 'none', 0],
    ['c', 's', 100_000],
    ['copy', 'none', 0],
  ] as const) {
    const rootfs = join(base, container, snapshot, 'rootfs');
    mkdirSync(rootfs, { recursive: true });
    chownSync(rootfs, owner, owner);
  }
  const machine = { architecture: 'x86_64', profiles: [], ephemeral: false, config: {}, devices: {}, description: '' };
  const ready = { ...machine, lifecycle: 'ready', pool: 'p', createdAt, lastUsedAt: createdAt };
  const collection = (all: Record<string, object>) => ({
    generation: 1,
    get: (name: string) => (all[name] === undefined ? undefined : { name, document: all[name] }),
    has: (name: string) => name in all,
    list: () => Object.entries(all).map(([name, document]) => ({ name, document })),
  });
  const records = {
    containers: collection({ c: { ...ready, uuid: 'u' }, copy: { ...ready, uuid: 'v' } }),
    snapshots: collection({ 'u/s': { ...ready, expiresAt: createdAt, stateful: false } }),
    pools: collection({ p: { driver: 'zfs', config: {}, description: '', lifecycle: 'ready' } }),
    projects: collection({ default: { config: {} } }),
    profiles: collection({}),
    backups: collection({}),
  };
  const exported = new Map<string, number | undefined>();
  const derivedFrom: string[] = [];
  const driver = {
    capabilities: { nativeStreams: 'zfs', cheapCopies: true },
    volumePath: (_pool: unknown, volume: TreeRef['volume']) => pathOf({ volume }),
    snapshotPath: (_pool: unknown, tree: TreeRef) => pathOf(tree),
    hasNativeForm: () => Promise.resolve(true),
    streamId: () => Promise.resolve('1'),
    holdStill: (_pool: unknown, volume: TreeRef['volume'], use: (still: object) => Promise<void>) =>
      use({ from: { volume }, isStill: true }),
    exportVolume: (
      _pool: unknown,
      { snapshot = 'none' }: TreeRef,
      form: ExportForm,
      take: (bytes: object) => unknown,
    ) => {
      exported.set(snapshot, form.kind === 'tar' ? form.ownerOf?.('uid', 101_000) : undefined);
      return take((async function* () {})());
    },
    deriveVolume: (_pool: unknown, from: TreeRef) => Promise.resolve(void derivedFrom.push(from.volume.name)),
  };
  const map = [{ isuid: true, isgid: true, hostid: 100_000, nsid: 0, maprange: 65_536 }];
  const run = (_key: unknown, work: () => unknown): unknown => work();
  const deps = {
    records,
    pools: { use: () => ({ driver, pool: { name: 'p', driver: 'zfs', config: {} } }) },
    runtime: { rootfsIdmapped: false, probe: () => ({ status: 'stopped' }) },
    idMaps: { filesOf: () => [[], map], unfinished: () => ({}) as object },
    view: { render: () => ({ ...machine, name: 'c' }) },
    locks: { run, runAll: run, unshared: () => Promise.resolve() },
    clock: { nowMs: () => 0 },
    events: { lifecycle: () => {} },
    dir: base,
  };
  return { deps, exported, derivedFrom };
}

test('files of a shift that was cut off leave with the owners that the container sees, shifted or not', async () => {
  const { deps } = scene();
  type Arguments = Parameters<typeof ownersOf>;
  const cut = { ...deps, idMaps: { ...deps.idMaps, unfinished: () => ({ 'volatile.idmap.current': 'map' }) } };
  const ownerOf = await ownersOf(cut as unknown as Arguments[0], 'p', { volume: { type: 'container', name: 'c' } });
  expect([ownerOf?.('uid', 101_000), ownerOf?.('uid', 1000), ownerOf?.('gid', 0)]).toEqual([1000, 1000, 0]);
});

test.skipIf(!isRoot)('a backup holds the files of the snapshot with the owners that the container sees', async () => {
  const { deps, exported } = scene();
  const document = { file: 'b', containerOnly: false, optimizedStorage: false };
  const params = { container: 'c', uuid: 'u', backup: 'b', document, algorithm: 'none' };
  type Arguments = Parameters<typeof writeBackup>;
  const context = { signal, progress: () => {} };
  await writeBackup(deps as unknown as Arguments[0], params as unknown as Arguments[1], context, () => {});
  expect([...exported]).toEqual([
    ['s', 1000],
    ['none', undefined],
  ]);
});

test.skipIf(!isRoot)(
  'a container with such a snapshot goes to another server as tar, not as a stream of the file system',
  async () => {
    const { deps } = scene();
    const offers: unknown[] = [];
    const peer = {
      send: (offer: { formats: unknown }) => {
        offers.push(offer.formats);
        throw new Error('enough');
      },
    };
    type Arguments = Parameters<typeof sendFiles>;
    const send = (withoutSnapshots: boolean): Promise<unknown> =>
      sendFiles(
        deps as unknown as Arguments[0],
        peer as unknown as Arguments[1],
        'c',
        { withoutSnapshots },
        {} as Arguments[4],
        signal,
      ).catch((error: unknown) => error);
    await send(false);
    await send(true);
    expect(offers).toEqual([['tar'], ['zfs', 'tar']]);
  },
);

test.skipIf(!isRoot)('a refresh on this server copies the files of such a snapshot and makes no clone', async () => {
  const { deps, derivedFrom } = scene();
  type Arguments = Parameters<typeof refreshFromHere>;
  const refresh = async (isWithoutSnapshots: boolean): Promise<unknown> => {
    let done: Promise<unknown> = Promise.resolve();
    const sagas = {
      run: async (saga: Saga<object>, params: object) => {
        const content = saga.steps.find(({ name }) => name === 'content');
        await content?.execute(params, { signal, progress: () => {} });
      },
    };
    const operations = {
      start: ({ run }: { run: (handle: object, aborted: AbortSignal) => Promise<unknown> }) => {
        done = run({ update: () => {} }, signal);
      },
    };
    const body = { source: { type: 'copy', source: 'c', container_only: isWithoutSnapshots } };
    const all = { ...deps, sagas, operations };
    // Trees that are compared are listed first, which this driver cannot: it fails before anything is derived.
    refreshFromHere(all as unknown as Arguments[0], { project: 'default' } as Arguments[1], 'copy', body);
    return done.catch((error: unknown) => error);
  };
  await refresh(false);
  expect(derivedFrom).toEqual([]);
  await refresh(true);
  expect(derivedFrom).toEqual(['c']);
});
