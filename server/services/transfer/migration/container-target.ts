// The target of a container's migration: creates the whole container from the data of the source, or nothing.
import { never } from '../../../api/schema/common-schemas.ts';
import { validateContainerConfig } from '../../../api/container/container-config.ts';
import { rawLxcProblems } from '../../../api/container/raw-lxc.ts';
import { isWithoutSnapshots, type ContainerCreate } from '../../../api/container/container.ts';
import { validateDevices } from '../../../api/devices/index.ts';
import { errors } from '../../../api/errors.ts';
import type { ContainerMigrationOffer, ContainerSnapshotOffer } from '../../../api/container/migration-messages.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { TargetVolume } from './streams.ts';
import { newContainerVolume, ofContainerSnapshots } from '../../storage/volume-shapes.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Records } from '../../../records/records.ts';
import { reachOf } from '../../limits/reach.ts';
import type { Caller } from '../../shared/caller.ts';
import { arrivedInstanceId } from '../../containers/shared/instance-id.ts';
import { applyTemplateKey } from '../../containers/files/apply-templates.ts';
import { lockOf } from '../../shared/find-container.ts';
import { checkArchitecture, checkDraft, freeName, withRootIn } from '../../containers/shared/draft.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';
import type { SnapshotEntry } from '../../containers/shared/snapshot-records.ts';
import type { StateDeps } from '../../containers/shared/state-deps.ts';
import { needCheckpoints } from '../../containers/shared/checkpoint.ts';
import { withoutServerKeys } from '../../shared/expand.ts';
import { replaceConfig } from '../../shared/patch.ts';
import {
  announceArrival,
  arrivingContainer,
  arrivingSnapshot,
  retainedKeys,
  receivedSnapshotKeys,
} from './arriving.ts';
import type { ConnectDeps } from './connect.ts';
import { goOnOrRemove } from './live.ts';
import { idMapOf, purposeOf } from './lxd/offers.ts';
import { startMigration } from './operation.ts';
import {
  isUntrustedSource,
  refuseUntrustedCheckpoint,
  untrustedContainer,
  withoutCheckpoints,
} from './untrusted-source.ts';
import { targetMeeting, takeOffer, receiveAll, type Taken, type TargetDeps } from './target.ts';
import { receiveContainerSaga, type ReceiveContainer, type ReceiveContainerParams } from './sagas/container-receive.ts';
import { profilesOf } from '../../shared/project-scope.ts';

export type ContainerTargetDeps = StateDeps & TargetDeps & ConnectDeps;

/** POST containers {source: {type: migration}}. Checks the body at once, and everything else when the offer arrives. */
export function receiveContainer(deps: ContainerTargetDeps, caller: Caller, body: ContainerCreate): Operation {
  const name = freeName(deps.records, caller.project, body.name);
  checkBody(deps, name, body);
  const untrusted = isUntrustedSource(deps.records, caller, name);
  if (untrusted && body.source.live === true) refuseUntrustedCheckpoint(name);
  const meeting = targetMeeting(body.source, reachOf(deps.records, caller));
  return startMigration(deps, {
    description: 'Creating container',
    resources: { containers: [containerUrl(name)] },
    meeting,
    live: body.source.live === true,
    run: async (peer, handle, signal) => {
      const { offer: offered, lxd } = await takeOffer(peer, 'container', untrusted);
      if (untrusted && offered.live === true) refuseUntrustedCheckpoint(name);
      const offer = untrusted ? withoutCheckpoints(offered) : offered;
      if (offer.live === true) await needCheckpoints(deps.runtime, `Restoring the checkpoint of ${name}`);
      const params = draft(deps, name, body, { offer, lxd });
      const receive: ReceiveContainer = async ({ document, snapshots }, context) =>
        receiveAll(
          deps,
          peer,
          targetVolume(deps.records, name, document, snapshots),
          {
            offer,
            lxd,
            snapshots: snapshots.map((one) => one.name),
            purpose: purposeOf(replaceConfig(body.config)),
            untrusted: untrusted ? await untrustedContainer(deps, name, document, snapshots) : undefined,
          },
          handle,
          context.signal,
        );
      await deps.locks.run(lockOf(name), async () => {
        await deps.sagas.run(receiveContainerSaga(deps, receive), params, { signal });
        // As created ones have: `lxc copy --refresh` of this one may not take these keys from a copy on LXD.
        await deps.idMaps.refresh(name);
        if (offer.live === true) await goOnOrRemove(deps, caller, name);
      });
      // The container is complete and recorded, so it no longer matters if the source left early.
      await peer.send({ type: 'done' }).catch(() => {});
      await announceArrival(deps, caller, name, params.document);
    },
  });
}

/** The volume of a container that arrives, and those of its snapshots. */
export function targetVolume(
  records: Records,
  name: string,
  document: ContainerDocument,
  snapshots: readonly SnapshotEntry[],
): TargetVolume {
  const ref = newContainerVolume(records, name, document);
  return { pool: document.pool, ref, ofSnapshot: ofContainerSnapshots(records, ref, snapshots) };
}

/** Checks that need only the body, made before the connection. */
function checkBody(deps: ContainerTargetDeps, name: string, body: ContainerCreate): void {
  checkArchitecture(body.architecture, deps.architectures);
  const missing = (body.profiles ?? []).filter((profile) => profilesOf(deps.records, name)(profile) === undefined);
  const problems = [
    ...missing.map((profile) => ({ path: 'profiles', message: `there is no profile ${profile} on this server` })),
    ...validateContainerConfig(withoutServerKeys(replaceConfig(body.config)), { profile: false }),
    ...rawLxcProblems(replaceConfig(body.config)),
    ...validateDevices(body.devices ?? {}),
  ];
  if (problems.length > 0) throw errors.invalid(`container ${name}`, problems);
  const { profiles, devices } = body;
  if (profiles === undefined || profiles === null || devices === undefined || devices === null) return;
  // The config decides the place of its files and its privileges. Real clients send it.
  const config = withoutServerKeys(replaceConfig(body.config));
  checkDraft(deps, name, { architecture: deps.architectures[0], profiles, devices, config });
}

/** Members missing from the body are taken from the source. */
function draft(
  deps: ContainerTargetDeps,
  name: string,
  body: ContainerCreate,
  { offer: { name: offered, object, snapshots, live }, lxd }: Taken<ContainerMigrationOffer>,
): ReceiveContainerParams {
  const base = body.source['base-image'];
  const wanted = {
    architecture: checkArchitecture(body.architecture ?? object.architecture, deps.architectures),
    profiles: body.profiles ?? object.profiles,
    devices: body.devices ?? object.devices,
    config: {
      ...(body.config === undefined || body.config === null
        ? retainedKeys(object.config, live === true)
        : retainedKeys(replaceConfig(body.config), true)),
      ...(base === undefined || base === '' ? {} : { 'volatile.base_image': base }),
      ...(live === true ? {} : { [applyTemplateKey]: 'copy' }),
      ...arrivedInstanceId(body.config ?? object.config, plainName(offered) === plainName(name)),
      // Between two gantryd, files are sent under the ids that the container sees.
      [idMapKeys.files]: lxd === undefined ? '[]' : idMapOf(lxd),
    },
  };
  const document = arrivingContainer(deps, name, wanted, {
    ephemeral: body.ephemeral ?? object.ephemeral,
    description: body.description ?? object.description,
    createdAt: deps.clock.timestamp(),
    lastUsedAt: never.started,
    stateful: live === true,
    volume: object.volume,
  });
  const taken = isWithoutSnapshots(body.source) ? [] : snapshots;
  return {
    name,
    document,
    snapshots: taken.map((one) => snapshotEntry(deps.records, name, one, document.pool, lxd !== undefined)),
  };
}

/** `pool`: the pool of the new container. `isOfLxd`: its files keep the owners of the other disk. */
export function snapshotEntry(
  records: Records,
  container: string,
  offer: ContainerSnapshotOffer,
  pool: string,
  isOfLxd = false,
): SnapshotEntry {
  const { name, architecture, profiles } = offer;
  const machine = {
    architecture,
    profiles,
    config: receivedSnapshotKeys(offer.config, isOfLxd ? offer.config[idMapKeys.files] : '[]'),
    devices: withRootIn(records, container, offer, pool),
  };
  const { ephemeral, description, createdAt, lastUsedAt, stateful, expiresAt, volume } = offer;
  const facts = { ephemeral, description, createdAt, lastUsedAt, stateful, expiresAt, volume };
  return arrivingSnapshot(name, machine, facts);
}
