// The target of a custom volume's migration: creates the whole volume from the data of the source, or nothing.
import { type VolumeId, volumeKey } from '../../../records/record-names.ts';
import { randomUUID } from 'node:crypto';
import { errors, checkName } from '../../../api/errors.ts';
import type { VolumeMigrationOffer } from '../../../api/container/migration-messages.ts';
import { snapshotName, volumeName } from '../../../api/names.ts';
import type { TargetVolume } from './streams.ts';
import { newCustomVolume, ofCustomSnapshots } from '../../storage/volume-shapes.ts';
import type { Operation } from '../../../api/operation.ts';
import { withPoolDefaults } from '../../../api/storage/storage-config.ts';
import type { StorageVolumeCreate } from '../../../api/storage/volume.ts';
import type { EventHub } from '../../../events/hub.ts';
import type { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import type { Operations } from '../../../operations/manager.ts';
import type { Sagas } from '../../../operations/saga.ts';
import type { VolumeDocument } from '../../../records/documents.ts';
import { reachOf } from '../../limits/reach.ts';
import type { Caller } from '../../shared/caller.ts';
import { withoutServerKeys } from '../../shared/expand.ts';
import { replaceConfig } from '../../shared/patch.ts';
import { volumeIn } from '../../shared/project-scope.ts';
import { volumeSize, type VolumeSnapshots } from '../../storage/custom-volumes.ts';
import { customUrl } from '../../shared/volume-urls.ts';
import { checkedVolumeConfig, volumeLock } from '../../storage/volume-checks.ts';
import type { ConnectDeps } from './connect.ts';
import { startMigration } from './operation.ts';
import { isUntrustedSource, untrustedVolume } from './untrusted-source.ts';
import { receiveAll, takeOffer, targetMeeting, type TargetDeps } from './target.ts';
import { receiveVolumeSaga, type ReceiveVolume, type ReceiveVolumeParams } from './sagas/volume-receive.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export type VolumeTargetDeps = TargetDeps &
  ConnectDeps & {
    readonly operations: Operations;
    readonly sagas: Sagas;
    readonly events: EventHub;
    readonly locks: KeyedMutex;
  };

/** POST storage-pools/POOL/volumes {source: {type: migration}}. */
export function receiveVolume(
  deps: VolumeTargetDeps,
  caller: Caller,
  pool: string,
  type: string | undefined,
  body: StorageVolumeCreate,
): Operation {
  const volume: VolumeId = { pool, name: volumeIn(deps.records, caller.project, body.name) };
  if (type !== 'custom')
    throw errors.invalid('storage volume', [{ path: 'type', message: 'must be custom: others come with their owner' }]);
  checkName('storage volume', body.name, volumeName);
  deps.pools.use(pool);
  if (deps.records.volumes.has(volumeKey(volume))) throw errors.exists('storage volume', volumeKey(volume));
  if (isGiven(body.config)) checkedVolumeConfig(deps.pools, pool, replaceConfig(body.config));
  return startMigration(deps, {
    description: 'Creating storage volume',
    resources: { storage_volumes: [customUrl(volume)] },
    project: caller.project,
    meeting: targetMeeting(body.source ?? {}, reachOf(deps.records, caller)),
    run: async (peer, handle, signal) => {
      const untrusted = isUntrustedSource(deps.records, caller, volume.name);
      const { offer, lxd } = await takeOffer(peer, 'volume', untrusted);
      const params = draft(deps, volume, body, offer);
      const receive: ReceiveVolume = async ({ snapshots, document }, context) =>
        receiveAll(
          deps,
          peer,
          targetVolume(volume, document, snapshots),
          {
            offer,
            lxd,
            snapshots: snapshots.map((one) => one.name),
            untrusted: untrusted ? await untrustedVolume(deps.pools, pool, volumeSize(document.config)) : undefined,
          },
          handle,
          context.signal,
        );
      await deps.locks.run(volumeLock(volume), () =>
        deps.sagas.run(receiveVolumeSaga(deps, receive), params, { signal }),
      );
      // The volume is complete and recorded, so it no longer matters if the source left early.
      await peer.send({ type: 'done' }).catch(() => {});
      deps.events.lifecycle('storage-volume-created', customUrl(volume), caller);
    },
  });
}

/** The volume that arrives, and those of its snapshots. */
export function targetVolume(
  { pool, name }: VolumeId,
  { config }: Pick<VolumeDocument, 'config'>,
  snapshots: VolumeSnapshots,
): TargetVolume {
  const ref = newCustomVolume(name, config);
  return { pool, ref, ofSnapshot: ofCustomSnapshots(ref, snapshots) };
}

const isGiven = (config: StorageVolumeCreate['config']): config is Record<string, string> =>
  config !== undefined && config !== null;

function draft(
  deps: VolumeTargetDeps,
  volume: VolumeId,
  body: StorageVolumeCreate,
  { object, snapshots }: VolumeMigrationOffer,
): ReceiveVolumeParams {
  const sent = isGiven(body.config) ? replaceConfig(body.config) : withoutServerKeys(object.config);
  checkedVolumeConfig(deps.pools, volume.pool, sent);
  const config = withPoolDefaults(deps.pools.use(volume.pool).pool.config, sent);
  const taken = body.source?.volume_only === true ? [] : snapshots;
  return {
    volume,
    document: {
      v: 1,
      uuid: randomUUID(),
      description: body.description ?? object.description,
      config,
      createdAt: deps.clock.timestamp(),
      lifecycle: 'ready',
    },
    snapshots: snapshotsOfOffer(taken),
  };
}

/** The names come from another server and become paths here. */
export const snapshotsOfOffer = (offered: VolumeMigrationOffer['snapshots']): VolumeSnapshots =>
  offered.map(({ name, description, config, createdAt, expiresAt }) => {
    checkName('snapshot', name, snapshotName);
    return {
      name,
      document: {
        v: 1,
        description,
        config: withoutServerKeys(config),
        createdAt,
        ...withoutUndefined({ expiresAt }),
        lifecycle: 'ready',
      },
    };
  });
