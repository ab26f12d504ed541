// Making a backup: what goes in is decided from the records, then a saga writes the file and records it.
import { rm, stat, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { errors } from '../../../api/errors.ts';
import { shiftId } from '../../../drivers/runtime/idmap/shift-ownership.ts';
import type { TreeRef } from '../../../drivers/storage/driver.ts';
import { hostRootIds } from '../../../drivers/runtime/idmap/id-map.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { SagaContext } from '../../../operations/saga.ts';
import type { BackupDocument } from '../../../records/documents.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { snapshotsOf } from '../../containers/shared/snapshot-records.ts';
import { renderSnapshot } from '../../containers/snapshots/snapshots.ts';
import { packerOf } from '../../shared/compression.ts';
import { backupPath } from '../../shared/backups.ts';
import { renderIndex, type BackupContent } from './index-yaml.ts';
import { writeTarball } from './tarball-writer.ts';
import { projectOf } from '../../../api/project/project-names.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import type { Room } from '../../shared/room.ts';
import { withinRoom } from '../../limits/image-room.ts';

export type BackupDeps = Pick<
  ContainerDeps,
  'records' | 'runtime' | 'pools' | 'view' | 'idMaps' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock' | 'log'
> & {
  /** Where the files are. */
  readonly dir: string;
};

export interface CreateBackupParams {
  readonly container: string;
  readonly uuid: string;
  readonly backup: string;
  readonly document: BackupDocument;
  readonly algorithm: string;
}

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
  const { container, document, algorithm } = params;
  const content = contentOf(deps, container, document);
  const { driver, pool } = deps.pools.use(content.pool.name);
  const volume = { type: 'container', name: container } as const;
  const ownerOf = await ownersOf(deps, container, join(driver.volumePath(pool, volume), 'rootfs'));
  const index = await renderIndex(content);
  const packer = await packerOf(algorithm);
  let last = 0;
  const write = (held: TreeRef, room: Room): Promise<void> =>
    writeTarball(
      { driver, pool },
      {
        path: backupPath(deps.dir, document.file),
        packer,
        index,
        volume,
        held,
        snapshots: content.snapshots.map(({ name }) => name),
        optimized: document.optimizedStorage,
        timeS: Math.floor(deps.clock.nowMs() / 1000),
        room,
        ...(ownerOf === undefined ? {} : { ownerOf }),
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
        // Where maps are not applied by mounting, the next start may give the files to other owners.
        if (isStill || deps.runtime.rootfsIdmapped) share();
        await withinRoom(deps.records, projectOf(container), (room) => write(from, room));
      },
      context.signal,
    );
  await (document.optimizedStorage ? withFile(deps, beside, index.backup, hold) : hold(() => Promise.resolve()));
}

/** The real system looks for it in the stream of a container. A full volume does without; what a crash leaves is harmless. */
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

/** Snapshots from the oldest to the newest. */
function contentOf(deps: WriteBackupDeps, container: string, document: BackupDocument): BackupContent {
  const entry = readyContainer(deps.records, container);
  const { pool, profiles, uuid, volume } = entry.document;
  const found = deps.records.pools.get(pool)?.document;
  if (found === undefined) throw errors.notFound('storage pool', pool);
  const snapshots = snapshotsOf(deps.records, uuid)
    .filter((snapshot) => !document.containerOnly && snapshot.document.lifecycle === 'ready')
    .toSorted((a, b) => (a.document.createdAt < b.document.createdAt ? -1 : 1));
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

/** Undefined: the files are on disk as the container sees them. */
async function ownersOf(deps: WriteBackupDeps, container: string, rootfs: string) {
  const { uid } = await stat(rootfs);
  if (uid === 0) return undefined;
  const { document } = readyContainer(deps.records, container);
  const map = deps.idMaps.filesOf(document).find((each) => hostRootIds(each).uid === uid);
  if (map === undefined) return undefined;
  return (kind: 'uid' | 'gid', id: number): number => shiftId(id, kind, map, []);
}
