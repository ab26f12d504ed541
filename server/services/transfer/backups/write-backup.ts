// Makes a backup: decides its contents from the records, then a saga writes the file and records it.
import { rm, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { mustFind } from '../../../api/errors.ts';
import type { TreeRef } from '../../../drivers/storage/driver.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { SagaContext } from '../../../operations/saga.ts';
import type { BackupDocument } from '../../../records/documents.ts';
import type { VolumeId } from '../../../records/record-names.ts';
import { withoutServerKeys } from '../../shared/expand.ts';
import { ownedBy } from '../../shared/owned-records.ts';
import { readyVolume, refOf } from '../../storage/custom-volumes.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { snapshotsOf } from '../../containers/shared/snapshot-records.ts';
import { renderSnapshot } from '../../containers/snapshots/snapshots.ts';
import { packerOf } from '../../shared/compression.ts';
import { backupPath } from '../../shared/backups.ts';
import { renderIndex, type BackupContent } from './index-yaml.ts';
import { ownerOf, type BackupOf } from './owner.ts';
import { renderVolumeIndex } from './volume-index.ts';
import { ownersOf, treeOf, type OwnerOf } from '../migration/owners.ts';
import { writeTarball, type TarballPlan } from './tarball-writer.ts';
import { plainName, projectOf } from '../../../api/project/project-names.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import type { Room } from '../../shared/room.ts';
import { withinRoom } from '../../limits/image-room.ts';

export type BackupDeps = Pick<
  ContainerDeps,
  'records' | 'runtime' | 'pools' | 'view' | 'idMaps' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock' | 'log'
> & {
  readonly dir: string;
};

export type CreateBackupParams = BackupOf & {
  readonly uuid: string;
  readonly backup: string;
  readonly document: BackupDocument;
  readonly algorithm: string;
};

const progressEveryMs = 500;

export type WriteBackupDeps = Pick<
  BackupDeps,
  'runtime' | 'records' | 'pools' | 'view' | 'idMaps' | 'clock' | 'log' | 'dir'
>;

export async function writeBackup(
  deps: WriteBackupDeps,
  params: CreateBackupParams,
  context: SagaContext,
  share: () => void,
): Promise<void> {
  const { document, algorithm } = params;
  const packed = await ('volume' in params
    ? volumePacking(deps, params.volume, document)
    : containerPacking(deps, params.container, document));
  const { driver, pool } = deps.pools.use(packed.pool);
  const { volume, type, index, snapshots, owners } = packed;
  const packer = await packerOf(algorithm);
  let last = 0;
  const write = (frozen: TreeRef, room: Room): Promise<void> =>
    writeTarball(
      { driver, pool },
      {
        path: backupPath(deps.dir, document.file),
        type,
        packer,
        index,
        volume,
        frozen,
        snapshots,
        optimized: document.optimizedStorage,
        timeS: Math.floor(deps.clock.nowMs() / 1000),
        room,
        owners,
      },
      (bytes) => {
        const now = deps.clock.nowMs();
        if (now - last < progressEveryMs) return;
        last = now;
        context.progress({ create_backup_progress: `${(bytes / 1e6).toFixed(2)}MB` });
      },
      context.signal,
    );
  const beside = join(driver.volumePath(pool, volume), 'backup.yaml');
  const hold = (drop: () => Promise<void>): Promise<void> =>
    driver.holdStill(
      pool,
      volume,
      async ({ from, isStill }) => {
        await drop();
        // Where maps are not applied by mounting, the next start may change the owners of the files.
        if (isStill || deps.runtime.rootfsIdmapped) share();
        await withinRoom(deps.records, ownerOf(params).project, (room) => write(from, room));
      },
      context.signal,
    );
  const text = index.beside;
  await (document.optimizedStorage && text !== undefined
    ? withFile(deps, beside, text, hold)
    : hold(() => Promise.resolve()));
}

interface Packing extends Pick<TarballPlan, 'type' | 'volume' | 'index' | 'snapshots' | 'owners'> {
  readonly pool: string;
}

async function containerPacking(deps: WriteBackupDeps, name: string, document: BackupDocument): Promise<Packing> {
  const content = contentOf(deps, name, document);
  const volume = { type: 'container', name } as const;
  const snapshots = content.snapshots.map((one) => one.name);
  const owners = new Map<string | undefined, OwnerOf>();
  // A stream of the file system has the owners that are on the disk.
  for (const snapshot of document.optimizedStorage ? [] : [undefined, ...snapshots]) {
    const found = await ownersOf(deps, content.pool.name, treeOf(volume, snapshot));
    if (found !== undefined) owners.set(snapshot, found);
  }
  return {
    type: 'container',
    pool: content.pool.name,
    volume,
    index: await renderIndex(content),
    snapshots,
    owners,
  };
}

async function volumePacking(deps: WriteBackupDeps, id: VolumeId, backup: BackupDocument): Promise<Packing> {
  const document = readyVolume(deps.records, id);
  const found = mustFind(deps.records.pools.get(id.pool)?.document, 'storage pool', id.pool);
  const snapshots = oldestFirst(ownedBy(deps.records, 'volumeSnapshots', document.uuid), backup);
  const index = await renderVolumeIndex({
    name: plainName(id.name),
    project: projectOf(id.name),
    document: { ...document, config: withoutServerKeys(document.config) },
    snapshots,
    pool: { name: id.pool, document: found },
    optimized: backup.optimizedStorage,
  });
  const names = snapshots.map(({ name }) => name);
  return { type: 'custom', pool: id.pool, volume: refOf(id.name), index, snapshots: names, owners: new Map() };
}

/** LXD looks for it in a container's stream. A full volume does without; leftovers of a crash are harmless. */
async function withFile(
  deps: WriteBackupDeps,
  path: string,
  text: string,
  work: (drop: () => Promise<void>) => Promise<void>,
): Promise<void> {
  await rm(path, { force: true });
  await writeText(path, text, { mode: 0o400, flag: 'wx' }).catch((error: unknown) => {
    deps.log.warn(`The backup leaves the file ${path} out: ${errorText(error)}`);
  });
  const drop = (): Promise<void> => rm(path, { force: true });
  try {
    await work(drop);
  } finally {
    await drop();
  }
}

/** Ready snapshots, or none if the backup excludes them. */
const oldestFirst = <D extends { readonly createdAt: string; readonly lifecycle: string }>(
  all: readonly { readonly name: string; readonly document: D }[],
  { containerOnly }: BackupDocument,
) =>
  all
    .filter((one) => !containerOnly && one.document.lifecycle === 'ready')
    .toSorted((a, b) => (a.document.createdAt < b.document.createdAt ? -1 : 1));

function contentOf(deps: WriteBackupDeps, container: string, document: BackupDocument): BackupContent {
  const entry = readyContainer(deps.records, container);
  const { pool, profiles, uuid, volume } = entry.document;
  const found = mustFind(deps.records.pools.get(pool)?.document, 'storage pool', pool);
  const snapshots = oldestFirst(snapshotsOf(deps.records, uuid), document);
  return {
    container: deps.view.render(entry),
    project: projectOf(container),
    written: volume,
    writtenOf: new Map(
      snapshots.flatMap(({ name, document: own }) => (own.volume === undefined ? [] : [[name, own.volume] as const])),
    ),
    snapshots: snapshots.map((snapshot) => renderSnapshot(deps.records, container, snapshot)),
    pool: { name: pool, document: found },
    profiles: profiles.flatMap((name) => {
      const profile = profilesOf(deps.records, container)(name);
      return profile === undefined ? [] : [{ name, document: profile }];
    }),
    optimized: document.optimizedStorage,
  };
}
