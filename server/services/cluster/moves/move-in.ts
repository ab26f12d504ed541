// Moves a container to this member: its current member sends the files, and the last transaction makes it this member's.
import { targetVolume } from '../../transfer/migration/container-target.ts';
import type { ClusterArrival } from '../../../api/cluster/cluster.ts';
import { AppError, errors, mustFind } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import type { Cluster } from '../../../membership/cluster.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { OtherEntry } from '../../../records/other-members.ts';
import { lockOf } from '../../shared/find-container.ts';
import { checkDescription, withRootIn } from '../../containers/shared/draft.ts';
import { withoutMark } from '../../containers/create/unsynced-files.ts';
import type { SnapshotEntry } from '../../containers/shared/snapshot-records.ts';
import { expand, nicNetworks, withoutServerKeys } from '../../shared/expand.ts';
import { PeerError } from '../../transfer/migration/peer.ts';
import { startMigration } from '../../transfer/migration/operation.ts';
import { receiveAll, takeOffer } from '../../transfer/migration/target.ts';
import type { ContainerTargetDeps } from '../../transfer/migration/container-target.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { whilePresent } from './member-gone.ts';
import { arriveContainerSaga, type ArriveParams, type TakeFiles } from './sagas/container-arrive.ts';
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';

export type MoveInDeps = ContainerTargetDeps & {
  readonly cluster: Cluster;
  /** The cluster's certificate, PEM. */
  readonly certificate: () => string;
};

/** The other member waits and keeps the container unchanged. All refusals come before the operation starts. */
export async function moveIn(deps: MoveInDeps, body: ClusterArrival): Promise<Operation> {
  const { cluster, certificate } = deps;
  await cluster.readBarrier();
  const params = arrivalOf(deps, body);
  const { name, document, from, snapshots } = params;
  const member = mustFind(cluster.members.byNumber(from.member), 'container', body.name);
  return startMigration(deps, {
    description: 'Receiving container',
    resources: { containers: [containerUrl(name)] },
    meeting: {
      how: 'dial',
      target: { operation: `https://${member.address}/1.0/operations/${body.operation}`, certificate: certificate() },
      secrets: body.secrets,
    },
    run: async (peer, handle, aborted) => {
      const watch = whilePresent(cluster.members, from.member, aborted);
      const { signal } = watch;
      const end = (): void => peer.close();
      signal.addEventListener('abort', end, { once: true });
      try {
        const { offer } = await takeOffer(peer, 'container', false);
        if (offer.uuid !== document.uuid) throw new PeerError('the other member sends another container');
        const names = offer.snapshots
          .map((one) => one.name)
          .filter((one) => snapshots.some((each) => each.name === one));
        if (names.length < snapshots.length) throw new PeerError('the other member does not send every snapshot');
        const volume = targetVolume(deps.records, name, document, snapshots);
        const take: TakeFiles = (_params, context) =>
          receiveAll(deps, peer, volume, { offer, snapshots: names }, handle, context.signal);
        await deps.locks.run(lockOf(name), () =>
          deps.idMaps.reserving((reserve) =>
            deps.sagas.run(
              arriveContainerSaga(deps, take),
              { ...params, document: reserve(name, document) },
              { signal },
            ),
          ),
        );
        // It is here and recorded: the early end of the other member's connection changes nothing.
        await peer.send({ type: 'done' }).catch(() => {});
      } finally {
        signal.removeEventListener('abort', end);
        watch.end();
      }
      await deps.hosts.refresh(nicNetworks(expand(document, profilesOf(deps.records, name)).devices));
    },
  });
}

function arrivalOf(deps: MoveInDeps, body: ClusterArrival): ArriveParams {
  const { records } = deps;
  const found = mustFind(records.others.get('containers', body.name), 'container', plainName(body.name));
  if (found.document.uuid !== body.uuid || found.document.lifecycle !== 'ready')
    throw errors.conflict('container', plainName(body.name));
  const { name, member, modRev } = found;
  const { pool } = body;
  if (records.pools.get(pool)?.document.lifecycle !== 'ready') throw noPool(deps, pool);
  const devices = withRootIn(records, body.to, found.document, pool);
  const document = { ...arriving(withoutMark(found.document), devices), pool };
  checkDescription(deps, body.to, { ...document, config: withoutServerKeys(document.config) });
  records.check((changes) => changes.takeOver('containers', found, body.to, document));
  const snapshots = body.container_only ? [] : snapshotsAt(deps, found, body.to, pool);
  return { from: { name, member, modRev }, name: body.to, document, snapshots };
}

const noPool = ({ cluster }: MoveInDeps, pool: string): AppError =>
  new AppError(
    'notFound',
    `The cluster member ${cluster.ownName} has no storage pool ${pool}: name one that it has, with pool`,
  );

/** Ready snapshots; others are not sent. */
function snapshotsAt(
  { records }: MoveInDeps,
  { member, document }: OtherEntry<ContainerDocument>,
  name: string,
  pool: string,
): readonly SnapshotEntry[] {
  const start = `${document.uuid}/`;
  return [...records.others.of('snapshots', member)]
    .filter((each) => each.name.startsWith(start) && each.document.lifecycle === 'ready')
    .map((each) => ({
      name: each.name.slice(start.length),
      document: arriving(each.document, withRootIn(records, name, each.document, pool)),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Ids and interface names that the former host assigned. */
const isOfHost = (key: string): boolean =>
  Object.values<string>(idMapKeys).includes(key) || /^volatile\.[^.]+\.(host_name|last_state\..*)$/.test(key);

/** Keeps addresses, notes and the last state. Files arrive with the ids that the container sees. */
function arrivingConfig(config: ConfigMap): ConfigMap {
  const kept = Object.entries(config).filter(([key]) => !isOfHost(key));
  return { ...Object.fromEntries(kept), [idMapKeys.files]: '[]' };
}

/** `devices`: with the root disk in the target pool. */
const arriving = <T extends { readonly config: ConfigMap; readonly devices: DeviceMap }>(
  document: T,
  devices: DeviceMap,
): T => ({ ...document, config: arrivingConfig(document.config), devices });
