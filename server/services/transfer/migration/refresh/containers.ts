// Refreshes an older copy of a container (`refresh: true`), from a container of this server or from another server.
import { isWithoutSnapshots, type ContainerCreate } from '../../../../api/container/container.ts';
import {
  type ContainerMigrationOffer,
  type ContainerSnapshotOffer,
} from '../../../../api/container/migration-messages.ts';
import { errors } from '../../../../api/errors.ts';
import type { Operation } from '../../../../api/operation.ts';
import { containerUrl, qualifiedName } from '../../../../api/project/project-names.ts';
import type { OperationHandle } from '../../../../operations/running-operation.ts';
import { reachOf } from '../../../limits/reach.ts';
import type { Caller } from '../../../shared/caller.ts';
import { lockOf, readyContainer } from '../../../shared/find-container.ts';
import { snapshotEntry } from '../container-target.ts';
import { startMigration } from '../operation.ts';
import type { Peer } from '../peer.ts';
import { trackProgress } from '../progress.ts';
import { refreshFromHere } from './containers-here.ts';
import { partsFromPeer } from './parts.ts';
import { plannedOf } from './plan.ts';
import { mine, refOf, refreshNow, stopped, type RefreshDeps } from './container-run.ts';
import { isUntrustedSource, untrustedContainer, withoutCheckpoints } from '../untrusted-source.ts';
import { ofContainerSnapshots } from '../../../storage/volume-shapes.ts';
import { takeOffer, targetMeeting, type Taken } from '../target.ts';

/** The existing container that a creation with `refresh` names; undefined if missing, which makes it an ordinary copy. */
export function refreshed(
  deps: Pick<RefreshDeps, 'records'>,
  project: string,
  body: ContainerCreate,
): string | undefined {
  const { type, refresh } = body.source;
  const name = qualifiedName(project, body.name ?? '');
  const isCopy = type === 'copy' || type === 'migration';
  return isCopy && refresh === true && deps.records.containers.has(name) ? name : undefined;
}

/** Config and devices of the copy do not change. Throws badRequest if it runs. */
export function refreshContainer(deps: RefreshDeps, caller: Caller, name: string, body: ContainerCreate): Operation {
  stopped(deps, name);
  return body.source.type === 'copy'
    ? refreshFromHere(deps, caller, name, body)
    : refreshFromPeer(deps, caller, name, body);
}

function refreshFromPeer(deps: RefreshDeps, caller: Caller, name: string, body: ContainerCreate): Operation {
  return startMigration(deps, {
    description: 'Refreshing container',
    resources: { containers: [containerUrl(name)] },
    meeting: targetMeeting(body.source, reachOf(deps.records, caller)),
    run: async (peer, handle, signal) => {
      const untrusted = isUntrustedSource(deps.records, caller, name);
      const { offer: offered, lxd } = await takeOffer(peer, 'container', untrusted);
      const offer = untrusted ? withoutCheckpoints(offered) : offered;
      if (offer.live === true)
        throw errors.badRequest(
          `The copy ${name} cannot be refreshed from a live source: give live: false at the source`,
        );
      // The source holds this lock while it sends, so waiting for it would never end.
      if (offer.uuid === readyContainer(deps.records, name).document.uuid)
        throw errors.badRequest(`The container ${name} cannot be brought up to date from itself`);
      await deps.locks.run(lockOf(name), () =>
        receiveRefresh(deps, { caller, name, body }, { peer, offer, lxd }, { handle, signal }),
      );
      // The copy is complete and recorded, so it no longer matters if the source left early.
      await peer.send({ type: 'done' }).catch(() => {});
    },
  });
}

interface Source extends Taken<ContainerMigrationOffer> {
  readonly peer: Peer;
}

async function receiveRefresh(
  deps: RefreshDeps,
  { caller, name, body }: { readonly caller: Caller; readonly name: string; readonly body: ContainerCreate },
  { peer, offer, lxd }: Source,
  { handle, signal }: { readonly handle: OperationHandle; readonly signal: AbortSignal },
): Promise<void> {
  await deps.locks.unshared(lockOf(name));
  const document = stopped(deps, name);
  const offered: readonly ContainerSnapshotOffer[] = isWithoutSnapshots(body.source) ? [] : offer.snapshots;
  const arriving = offered.map((one) => snapshotEntry(deps.records, name, one, document.pool, lxd !== undefined));
  const untrusted = isUntrustedSource(deps.records, caller, name)
    ? await untrustedContainer(deps, name, document, arriving)
    : undefined;
  const ref = refOf(name);
  const volume = { pool: document.pool, ref, ofSnapshot: ofContainerSnapshots(deps.records, ref, arriving) };
  const progress = trackProgress({ clock: deps.clock, onProgress: (metadata) => handle.update(metadata), signal });
  const known = mine(deps, document).map(plannedOf);
  const parts = await partsFromPeer(deps, peer, { volume, offer, lxd, offered, known, untrusted }, progress);
  await refreshNow(deps, { caller, name, document, progress, signal }, parts, arriving);
}
