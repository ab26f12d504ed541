// The source of a custom volume's migration: offers and sends. Changes nothing here unless the volume moves to another member.
import { reachOf } from '../../limits/reach.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ClusterDeparture } from '../../../api/cluster/cluster.ts';
import { errors } from '../../../api/errors.ts';
import type { VolumeMigrationOffer } from '../../../api/container/migration-messages.ts';
import { plainName } from '../../../api/project/project-names.ts';
import { userText } from '../../../api/project/user-text.ts';
import { namesText } from '../../../api/text/names-text.ts';
import type { Operation } from '../../../api/operation.ts';
import type { StorageVolumePost } from '../../../api/storage/volume.ts';
import type { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import type { Operations } from '../../../operations/manager.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { VolumeSnapshotDocument } from '../../../records/documents.ts';
import { type VolumeId, ownedKey } from '../../../records/record-names.ts';
import { withoutServerKeys } from '../../shared/expand.ts';
import { ownedBy } from '../../shared/owned-records.ts';
import { readyVolume, readyVolumeSnapshots } from '../../storage/custom-volumes.ts';
import { customUrl } from '../../shared/volume-urls.ts';
import { deleteVolumeSaga } from '../../storage/sagas/volume-delete.ts';
import { volumeLock, withVolumes, type VolumesDeps } from '../../storage/volume-checks.ts';
import { volumeUsers } from '../../storage/volume-users.ts';
import { dialMeeting, type ConnectDeps } from './connect.ts';
import { startMigration } from './operation.ts';
import type { Peer } from './peer.ts';
import { offerHead, serve, type ServeDeps } from './source.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export type VolumeSourceDeps = ServeDeps &
  ConnectDeps & { readonly operations: Operations; readonly locks: KeyedMutex };

export type DepartureDeps = VolumeSourceDeps & VolumesDeps;

/** POST storage-pools/POOL/volumes/custom/NAME {migration: true}. Containers may keep using the volume. `snapshot`: only this one is sent. */
export function migrateVolume(
  deps: VolumeSourceDeps,
  caller: Caller,
  type: string,
  volume: VolumeId,
  body: StorageVolumePost,
  snapshot?: string,
): Operation {
  if (type !== 'custom')
    throw errors.badRequest(
      `Volumes of type ${type} migrate with what they belong to; only custom ones do by themselves`,
    );
  deps.pools.use(volume.pool);
  if (snapshot !== undefined) findSnapshot(deps, volume, snapshot);
  else readyVolume(deps.records, volume);
  const { target, volume_only: isAlone = false } = body;
  const meeting =
    typeof target === 'object' && target !== null
      ? dialMeeting('target', target, reachOf(deps.records, caller))
      : undefined;
  return startMigration(deps, {
    description: 'Migrating storage volume',
    resources: { storage_volumes: [customUrl(volume)] },
    project: caller.project,
    meeting,
    run: (peer, handle, signal) =>
      deps.locks.run(volumeLock(volume), () =>
        sendVolume(deps, { peer, handle, signal }, volume, { snapshot, isAlone }),
      ),
  });
}

/** Sends the volume to the member `target`, and deletes it here. All of it under the volume's locks: what containers would write meanwhile
 *  would be lost. */
export function departVolume(deps: DepartureDeps, caller: Caller, { pool, name, target }: ClusterDeparture): Operation {
  const volume = { pool, name };
  refuseDeparture(deps, volume, target);
  return startMigration(deps, {
    description: 'Moving storage volume',
    resources: { storage_volumes: [customUrl(volume)] },
    project: caller.project,
    meeting: undefined,
    run: (peer, handle, signal) =>
      withVolumes(deps, [volume], async () => {
        await deps.locks.unshared(volumeLock(volume));
        refuseDeparture(deps, volume, target);
        await sendVolume(deps, { peer, handle, signal }, volume);
        await deps.sagas.run(deleteVolumeSaga(deps), volume);
      }),
  });
}

/** Throws AppError badRequest. */
function refuseDeparture({ records, location }: VolumesDeps, volume: VolumeId, target: string): void {
  const { uuid } = readyVolume(records, volume);
  const label = `The storage volume ${volume.pool}/${plainName(volume.name)}`;
  const users = volumeUsers(records, volume);
  if (users.length > 0)
    throw errors.badRequest(
      `${label} is used by ${namesText(users.map(userText))}: detach it there before it moves to the member ${target}`,
    );
  const backups = ownedBy(records, 'backups', uuid).map((backup) => backup.name);
  if (backups.length > 0)
    throw errors.badRequest(
      `${label} has backups, which are stored on the member ${location()} (${backups.join(', ')}): export what you need, delete them, and move it then`,
    );
}

interface Conversation {
  readonly peer: Peer;
  readonly handle: OperationHandle;
  readonly signal: AbortSignal;
}

/** The caller holds the volume's lock. Resolves when the target has stored and recorded everything. A real LXD that asked for the volume
 *  alone would take the first snapshot for it. */
async function sendVolume(
  deps: VolumeSourceDeps,
  { peer, handle, signal }: Conversation,
  volume: VolumeId,
  { snapshot, isAlone = false }: { readonly snapshot?: string | undefined; readonly isAlone?: boolean } = {},
): Promise<void> {
  const document = readyVolume(deps.records, volume);
  const ref = { type: 'custom', name: volume.name } as const;
  const snapshots = snapshot === undefined && !isAlone ? readyVolumeSnapshots(deps.records, document.uuid) : [];
  const origin = snapshot === undefined ? document : findSnapshot(deps, volume, snapshot);
  const name = snapshot === undefined ? volume.name : `${volume.name}/${snapshot}`;
  const head = offerHead(deps, 'volume', plainName(name), document.uuid, volume.pool);
  const { driver, pool } = deps.pools.use(volume.pool);
  const itself = { volume: ref, ...withoutUndefined({ snapshot }) };
  const trees = [itself, ...snapshots.map((each) => ({ volume: ref, snapshot: each.name }))];
  const native = await Promise.all(trees.map((tree) => driver.hasNativeForm(pool, tree)));
  const streamIds = await Promise.all(
    snapshots.map((each) => driver.streamId(pool, { volume: ref, snapshot: each.name })),
  );
  const offer: VolumeMigrationOffer = {
    ...head,
    ...(native.includes(false) ? { formats: ['tar'] } : {}),
    object: { description: origin.description, config: withoutServerKeys(origin.config) },
    snapshots: snapshots.map(({ name: each, document: { createdAt, description, config, expiresAt } }, index) => ({
      name: each,
      ...(streamIds[index] === undefined ? {} : { streamId: streamIds[index] }),
      createdAt,
      ...withoutUndefined({ expiresAt }),
      description,
      config: withoutServerKeys(config),
    })),
  };
  const sent = { pool: volume.pool, ref, ...withoutUndefined({ snapshot }) };
  await serve(deps, peer, { lxd: { state: 'stopped' }, volume: sent, offer }, handle, signal);
}

/** Throws AppError notFound. */
function findSnapshot({ records }: VolumeSourceDeps, volume: VolumeId, snapshot: string): VolumeSnapshotDocument {
  const { uuid } = readyVolume(records, volume);
  const found = records.volumeSnapshots.get(ownedKey(uuid, snapshot))?.document;
  if (found?.lifecycle !== 'ready')
    throw errors.notFound('snapshot', `${volume.pool}/${plainName(volume.name)}/${snapshot}`);
  return found;
}
