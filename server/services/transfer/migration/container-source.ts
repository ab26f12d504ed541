// The source of a container's migration: offers and sends. Changes nothing here unless the migration is live.
import { isWithoutSnapshots, type ContainerPost } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import type {
  ContainerMigrationOffer,
  ContainerOffer,
  ContainerSnapshotOffer,
} from '../../../api/container/migration-messages.ts';
import type { Operation } from '../../../api/operation.ts';
import type { VolumeRef } from '../../../drivers/storage/driver.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../records/documents.ts';
import { reachOf } from '../../limits/reach.ts';
import type { Caller } from '../../shared/caller.ts';
import type { StateDeps } from '../../containers/shared/state-deps.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import { byAge, snapshotKey, snapshotsOf } from '../../containers/shared/snapshot-records.ts';
import { volumeCopy } from '../../storage/root-volume.ts';
import { snapshotUrlOf } from '../../containers/snapshots/snapshots.ts';
import { dialMeeting, type ConnectDeps } from './connect.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';
import { expand } from '../../shared/expand.ts';
import { isLive, withCheckpoint } from './live.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Peer } from './peer.ts';
import { memoryRounds } from './memory-rounds.ts';
import { ownersOf, treeOf } from './owners.ts';
import { startMigration } from './operation.ts';
import { offerHead, serve, type ServeDeps } from './source.ts';
import { dropCheckpoint } from '../../containers/power/container-drop-state.ts';
import { profilesOf } from '../../shared/project-scope.ts';

export type ContainerSourceDeps = StateDeps & ServeDeps & ConnectDeps;

/** POST containers/NAME {migration: true}. Performs every check that can refuse it before the operation starts. */
export async function migrateContainer(
  deps: ContainerSourceDeps,
  caller: Caller,
  name: string,
  body: ContainerPost,
): Promise<Operation> {
  const { ephemeral } = readyContainer(deps.records, name).document;
  const live = await isLive(deps, name, body.live, ephemeral);
  const meeting = isGiven(body.target) ? dialMeeting('target', body.target, reachOf(deps.records, caller)) : undefined;
  return startMigration(deps, {
    description: 'Migrating container',
    resources: { containers: [containerUrl(name)] },
    meeting,
    live,
    run: (peer, handle, signal) =>
      deps.locks.run(lockOf(name), async () => {
        const { document } = readyContainer(deps.records, name);
        const isRunning = await isLive(deps, name, body.live, document.ephemeral);
        const sending = await sendingOf(deps, name, { isRunning, withoutSnapshots: isWithoutSnapshots(body) });
        const { volume } = sending;
        const lxd = {
          state: isRunning ? 'live' : stateOf(deps, name),
          idMap: document.config[idMapKeys.files],
        } as const;
        if (!isRunning) return serve(deps, peer, { ...sending, lxd }, handle, signal);
        const converse = (store: () => Promise<void>, sent: () => void): Promise<void> =>
          serve(deps, peer, { ...sending, lxd, store, sent }, handle, signal);
        const { config } = expand(document, profilesOf(deps.records, name));
        const volumeDir = deps.pools.volumePath(volume.pool, volume.ref);
        const rounds = memoryRounds(deps.runtime.checkpoints, { name, volumeDir, config }, deps.log);
        await withCheckpoint(deps, caller, name, rounds, converse, signal);
        // The container now runs on the target.
        await dropCheckpoint(deps, name);
      }),
  });
}

const stateOf = ({ runtime }: Pick<ContainerSourceDeps, 'runtime'>, name: string): 'stopped' | 'running' =>
  runtime.probe(name).status === 'stopped' ? 'stopped' : 'running';

/** Sends a stopped container, whose lock the caller holds. Resolves when the target has stored and recorded everything. */
export async function sendFiles(
  deps: ContainerSourceDeps,
  peer: Peer,
  name: string,
  { withoutSnapshots }: { readonly withoutSnapshots: boolean },
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  await serve(deps, peer, await sendingOf(deps, name, { isRunning: false, withoutSnapshots }), handle, signal);
}

/** The current container, its snapshots from the oldest to the newest. */
async function sendingOf(
  deps: ContainerSourceDeps,
  name: string,
  { isRunning, withoutSnapshots }: { readonly isRunning: boolean; readonly withoutSnapshots: boolean },
) {
  const { document } = readyContainer(deps.records, name);
  const all = withoutSnapshots ? [] : snapshotsOf(deps.records, document.uuid);
  const snapshots = all.filter((one) => one.document.lifecycle === 'ready').toSorted(byAge);
  const volume = { pool: document.pool, ref: { type: 'container', name } as const };
  const names = snapshots.map((one) => one.name);
  const offer: ContainerMigrationOffer = {
    ...(await headOf(deps, name, document, volume.ref, undefined, names)),
    object: offerOf(document),
    ...(isRunning ? { live: true } : {}),
    snapshots: await Promise.all(snapshots.map((one) => snapshotOffer(deps, volume, one.name, one.document))),
  };
  const owners = (snapshot: string | undefined): ReturnType<typeof ownersOf> =>
    ownersOf(deps, volume.pool, treeOf(volume.ref, snapshot));
  return { volume, offer, ownersOf: owners };
}

/** POST .../snapshots/S {migration: true}: the snapshot travels as a container without snapshots. */
export function migrateSnapshot(
  deps: ContainerSourceDeps,
  caller: Caller,
  container: string,
  snapshot: string,
  body: ContainerPost,
): Operation {
  findSnapshot(deps, container, snapshot);
  const meeting = isGiven(body.target) ? dialMeeting('target', body.target, reachOf(deps.records, caller)) : undefined;
  return startMigration(deps, {
    description: 'Transferring snapshot',
    resources: { containers: [containerUrl(container)], snapshots: [snapshotUrlOf(container, snapshot)] },
    meeting,
    run: (peer, handle, signal) =>
      deps.locks.run(lockOf(container), async () => {
        const { document, owner } = findSnapshot(deps, container, snapshot);
        const volume = { pool: owner.pool, ref: { type: 'container', name: container } as const, snapshot };
        const offer: ContainerMigrationOffer = {
          ...(await headOf(deps, `${container}/${snapshot}`, owner, volume.ref, snapshot)),
          object: offerOf(document),
          snapshots: [],
        };
        const owners = (): ReturnType<typeof ownersOf> => ownersOf(deps, volume.pool, treeOf(volume.ref, snapshot));
        const lxd = { state: 'stopped', idMap: document.config[idMapKeys.files] } as const;
        await serve(deps, peer, { lxd, volume, offer, ownersOf: owners }, handle, signal);
      }),
  });
}

/** Native streams contain the ids on disk, so they are offered only if these are the container's own in every tree: a snapshot has those of
 *  its time. */
async function headOf(
  deps: ContainerSourceDeps,
  name: string,
  { uuid, pool }: ContainerDocument,
  volume: VolumeRef,
  snapshot?: string,
  /** Snapshots that are sent as well. */
  more: readonly string[] = [],
) {
  const head = offerHead(deps, 'container', plainName(name), uuid, pool);
  const { driver, pool: spec } = deps.pools.use(pool);
  const trees = [snapshot, ...more].map((each) => treeOf(volume, each));
  for (const tree of trees) {
    const isOwn = (await ownersOf(deps, pool, tree)) === undefined;
    if (!isOwn || !(await driver.hasNativeForm(spec, tree))) return { ...head, formats: ['tar'] };
  }
  return head;
}

const isGiven = (target: unknown): target is object => typeof target === 'object' && target !== null;

function findSnapshot(
  deps: Pick<ContainerSourceDeps, 'records'>,
  container: string,
  snapshot: string,
): { readonly document: SnapshotDocument; readonly owner: ContainerDocument } {
  const owner = readyContainer(deps.records, container).document;
  const document = deps.records.snapshots.get(snapshotKey(owner.uuid, snapshot))?.document;
  if (document?.lifecycle !== 'ready') throw errors.notFound('snapshot', `${container}/${snapshot}`);
  return { document, owner };
}

function offerOf(document: ContainerDocument | SnapshotDocument): ContainerOffer {
  const { architecture, profiles, ephemeral, config, devices, description } = document;
  const written = volumeCopy(document.volume);
  return { architecture, profiles: [...profiles], ephemeral, config, devices, description, ...written };
}

async function snapshotOffer(
  { pools }: Pick<ContainerSourceDeps, 'pools'>,
  volume: { readonly pool: string; readonly ref: VolumeRef },
  name: string,
  document: SnapshotDocument,
): Promise<ContainerSnapshotOffer> {
  const { driver, pool } = pools.use(volume.pool);
  const streamId = await driver.streamId(pool, { volume: volume.ref, snapshot: name });
  const { createdAt, lastUsedAt, expiresAt, stateful } = document;
  const known = streamId === undefined ? {} : { streamId };
  return { ...offerOf(document), ...known, name, createdAt, lastUsedAt, expiresAt, stateful };
}
