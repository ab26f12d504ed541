// Brings a copy of a custom volume up to date (`source.refresh: true`), from a volume of this server or from another server.
import type { VolumeMigrationOffer } from '../../../../api/container/migration-messages.ts';
import { errors } from '../../../../api/errors.ts';
import type { Operation } from '../../../../api/operation.ts';
import type { StorageVolumeCreate } from '../../../../api/storage/volume.ts';
import type { OperationHandle } from '../../../../operations/running-operation.ts';
import type { VolumeDocument } from '../../../../records/documents.ts';
import { volumeKey, type VolumeId } from '../../../../records/record-names.ts';
import { reachOf } from '../../../limits/reach.ts';
import type { Caller } from '../../../shared/caller.ts';
import { volumeIn, type ProjectNames } from '../../../shared/project-scope.ts';
import { customUrl } from '../../../shared/volume-urls.ts';
import {
  readyVolume,
  readyVolumeSnapshot,
  readyVolumeSnapshots,
  refOf,
  volumeSize,
  type VolumeSnapshots,
} from '../../../storage/custom-volumes.ts';
import { deleteVolumeSnapshotSaga } from '../../../storage/sagas/volume-snapshot-delete.ts';
import { refuseRunningUsers, volumeLock, withVolumes, type VolumesDeps } from '../../../storage/volume-checks.ts';
import { startMigration } from '../operation.ts';
import type { Peer } from '../peer.ts';
import { trackProgress, type Progress } from '../progress.ts';
import { refreshVolumeSaga, type RefreshVolumeParams } from '../sagas/volume-refresh.ts';
import { takeOffer, targetMeeting, type Taken } from '../target.ts';
import { isUntrustedSource, untrustedVolume } from '../untrusted-source.ts';
import { snapshotsOfOffer, targetVolume, type VolumeTargetDeps } from '../volume-target.ts';
import { partsFromHere, partsFromPeer, runPlan, type PlannedParts } from './parts.ts';
import { plannedOf } from './plan.ts';

export type RefreshVolumeDeps = VolumeTargetDeps & Pick<VolumesDeps, 'runtime'>;

/** The existing volume that a creation with `refresh` names; undefined if missing, which makes it an ordinary copy. */
export function refreshedVolume(
  { records }: Pick<RefreshVolumeDeps, 'records'>,
  project: string,
  pool: string,
  type: string | undefined,
  { name, source }: StorageVolumeCreate,
): VolumeId | undefined {
  const isCopy = source?.type === 'migration' || (source?.name ?? '') !== '';
  if (type !== 'custom' || source?.refresh !== true || !isCopy) return undefined;
  const volume = { pool, name: volumeIn(records, project, name) };
  return records.volumes.has(volumeKey(volume)) ? volume : undefined;
}

/** Config and description of the copy do not change. Throws badRequest while running containers use it. */
export function refreshVolume(
  deps: RefreshVolumeDeps,
  caller: Caller,
  volume: VolumeId,
  body: StorageVolumeCreate,
  from: Pick<ProjectNames, 'volume'>,
): Operation {
  ready(deps, volume);
  return body.source?.type === 'migration'
    ? refreshFromPeer(deps, caller, volume, body)
    : refreshFromHere(deps, caller, volume, body, from);
}

function refreshFromHere(
  deps: RefreshVolumeDeps,
  caller: Caller,
  volume: VolumeId,
  { source = {} }: StorageVolumeCreate,
  from: Pick<ProjectNames, 'volume'>,
): Operation {
  const { records, pools } = deps;
  const [name = '', snapshot] = from.volume(source.name ?? '').split('/');
  const origin = { pool: source.pool ?? volume.pool, name };
  const key = volumeKey(origin);
  pools.use(origin.pool);
  if (key === volumeKey(volume)) throw fromItself(volume);
  const found = (): VolumeDocument => {
    const document = readyVolume(records, origin);
    if (snapshot !== undefined) readyVolumeSnapshot(records, { volume: origin, uuid: document.uuid, snapshot });
    return document;
  };
  found();
  return deps.operations.start({
    description: 'Refreshing storage volume',
    resources: { storage_volumes: [customUrl(volume)] },
    project: caller.project,
    mayCancel: true,
    run: (handle, signal) =>
      alone(deps, volume, [origin], async (document) => {
        const isAlone = snapshot !== undefined || source.volume_only === true;
        const arriving = isAlone ? [] : readyVolumeSnapshots(deps.records, found().uuid);
        const progress = progressOf(deps, handle, signal);
        const local = { pool: origin.pool, volume: refOf(origin.name), snapshot };
        const known = {
          offered: arriving.map(plannedOf),
          known: readyVolumeSnapshots(deps.records, document.uuid).map(plannedOf),
        };
        const parts = await partsFromHere(deps, local, targetVolume(volume, document, arriving), known, progress);
        await refreshNow(deps, { caller, volume, document, progress, signal }, parts, arriving);
      }),
  });
}

function refreshFromPeer(
  deps: RefreshVolumeDeps,
  caller: Caller,
  volume: VolumeId,
  body: StorageVolumeCreate,
): Operation {
  return startMigration(deps, {
    description: 'Refreshing storage volume',
    resources: { storage_volumes: [customUrl(volume)] },
    project: caller.project,
    meeting: targetMeeting(body.source ?? {}, reachOf(deps.records, caller)),
    run: async (peer, handle, signal) => {
      const untrusted = isUntrustedSource(deps.records, caller, volume.name);
      const taken = await takeOffer(peer, 'volume', untrusted);
      // The source holds this lock while it sends, so waiting for it would never end.
      if (taken.offer.uuid === readyVolume(deps.records, volume).uuid) throw fromItself(volume);
      const wanted = { ...taken, peer, isAlone: body.source?.volume_only === true };
      await alone(deps, volume, [], (document) =>
        receive(deps, { caller, volume, document, progress: progressOf(deps, handle, signal), signal }, wanted),
      );
      // The copy is complete and recorded, so it no longer matters if the source left early.
      await peer.send({ type: 'done' }).catch(() => {});
    },
  });
}

/** A refresh that runs: the caller holds the locks. */
interface VolumeRefresh {
  readonly caller: Caller;
  readonly volume: VolumeId;
  readonly document: VolumeDocument;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

interface Source extends Taken<VolumeMigrationOffer> {
  readonly peer: Peer;
  /** Without its snapshots. */
  readonly isAlone: boolean;
}

async function receive(
  deps: RefreshVolumeDeps,
  refresh: VolumeRefresh,
  { peer, offer, lxd, isAlone }: Source,
): Promise<void> {
  const { caller, volume, document, progress } = refresh;
  const offered = isAlone ? [] : offer.snapshots;
  const arriving = snapshotsOfOffer(offered);
  const untrusted = isUntrustedSource(deps.records, caller, volume.name)
    ? await untrustedVolume(deps.pools, volume.pool, volumeSize(document.config))
    : undefined;
  const target = targetVolume(volume, document, arriving);
  const known = readyVolumeSnapshots(deps.records, document.uuid).map(plannedOf);
  const parts = await partsFromPeer(deps, peer, { volume: target, offer, lxd, offered, known, untrusted }, progress);
  await refreshNow(deps, refresh, parts, arriving);
}

/** `offered`: the wanted snapshots of the source. */
async function refreshNow(
  deps: RefreshVolumeDeps,
  { caller, volume, document: { uuid }, progress, signal }: VolumeRefresh,
  parts: PlannedParts,
  offered: VolumeSnapshots,
): Promise<void> {
  const drop = async (snapshot: string): Promise<void> => {
    await deps.sagas.run(deleteVolumeSnapshotSaga(deps), { volume, uuid, snapshot }, { signal });
    deps.events.lifecycle('storage-volume-snapshot-deleted', customUrl(volume, 'snapshots', snapshot), caller);
  };
  await runPlan(parts, progress, drop, async (coming, fill) => {
    const params: RefreshVolumeParams = { volume, uuid, added: offered.filter((one) => coming.has(one.name)) };
    await deps.sagas.run(refreshVolumeSaga(deps, { fill }), params, { signal });
  });
  deps.events.lifecycle('storage-volume-updated', customUrl(volume), caller);
}

/** No container starts with the volume meanwhile. `others`: are only read. */
function alone(
  deps: RefreshVolumeDeps,
  volume: VolumeId,
  others: readonly VolumeId[],
  work: (document: VolumeDocument) => Promise<void>,
): Promise<void> {
  const inTurn = async (): Promise<void> => {
    await deps.locks.unshared(volumeLock(volume));
    await work(ready(deps, volume));
  };
  return withVolumes(deps, [volume], inTurn, others);
}

function ready(deps: RefreshVolumeDeps, volume: VolumeId): VolumeDocument {
  const document = readyVolume(deps.records, volume);
  refuseRunningUsers(deps, volume, 'bringing it up to date');
  return document;
}

const progressOf = ({ clock }: RefreshVolumeDeps, handle: OperationHandle, signal: AbortSignal): Progress =>
  trackProgress({ clock, onProgress: (metadata) => handle.update(metadata), signal });

const fromItself = (volume: VolumeId) =>
  errors.badRequest(`The storage volume ${volumeKey(volume)} cannot be brought up to date from itself`);
