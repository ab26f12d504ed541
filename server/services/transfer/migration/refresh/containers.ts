// Refreshes an older copy of a container (`refresh: true`), from a container of this server or from another server.
import { isWithoutSnapshots, type ContainerCreate } from '../../../../api/container/container.ts';
import {
  type ContainerMigrationOffer,
  MigrationStep,
  migrationVersion,
  type ContainerSnapshotOffer,
} from '../../../../api/container/migration-messages.ts';
import { errors } from '../../../../api/errors.ts';
import type { Operation } from '../../../../api/operation.ts';
import { containerUrl, qualifiedName } from '../../../../api/project/project-names.ts';
import type { OperationHandle } from '../../../../operations/running-operation.ts';
import type { SagaContext } from '../../../../operations/saga.ts';
import { reachOf } from '../../../limits/reach.ts';
import type { Caller } from '../../../shared/caller.ts';
import { lockOf, readyContainer } from '../../../shared/find-container.ts';
import { snapshotEntry } from '../container-target.ts';
import { startMigration } from '../operation.ts';
import { treeOf } from '../owners.ts';
import { PeerError, type Peer } from '../peer.ts';
import { trackProgress } from '../progress.ts';
import { refreshFromHere } from './containers-here.ts';
import { planRefresh, type PlannedSnapshot, type RefreshPart } from './plan.ts';
import { labelOf, mine, plannedOf, refOf, refreshNow, stopped, type RefreshDeps } from './container-run.ts';
import { isUntrustedSource, untrustedContainer, withoutCheckpoints } from '../untrusted-source.ts';
import { ofContainerSnapshots } from '../../../storage/volume-shapes.ts';
import { formatsOf, receiveChanges } from '../streams.ts';
import { answerTo, featuresOf, isTwice } from '../lxd/offers.ts';
import type { ChangingTree } from '../../../../drivers/storage/driver.ts';
import { receiveInto } from '../lxd/trees.ts';
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
        receiveRefresh(deps, caller, name, body, { offer, lxd }, peer, handle, signal),
      );
      // The copy is complete and recorded, so it no longer matters if the source left early.
      await peer.send({ type: 'done' }).catch(() => {});
    },
  });
}

async function receiveRefresh(
  deps: RefreshDeps,
  caller: Caller,
  name: string,
  body: ContainerCreate,
  { offer, lxd }: Taken<ContainerMigrationOffer>,
  peer: Peer,
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  await deps.locks.unshared(lockOf(name));
  const document = stopped(deps, name);
  const { driver, pool } = deps.pools.use(document.pool);
  const offered: readonly ContainerSnapshotOffer[] = isWithoutSnapshots(body.source) ? [] : offer.snapshots;
  const known = await Promise.all(
    mine(deps, document).map(async (entry): Promise<PlannedSnapshot> => {
      const streamId = await driver.streamId(pool, { volume: refOf(name), snapshot: entry.name });
      return { ...plannedOf(entry), streamId };
    }),
  );
  const arriving = offered.map((one) => snapshotEntry(deps.records, name, one, document.pool, lxd !== undefined));
  const untrusted = isUntrustedSource(deps.records, caller, name)
    ? await untrustedContainer(deps, name, document, arriving)
    : undefined;
  const [native] = untrusted !== undefined ? [] : formatsOf(deps.pools, document.pool).filter((one) => one !== 'tar');
  const plan = planRefresh({
    source: offered,
    target: known,
    canBeNative: native !== undefined && offer.formats.includes(native),
    cheapCopies: driver.capabilities.cheapCopies,
  });
  const progress = trackProgress({ clock: deps.clock, onProgress: (metadata) => handle.update(metadata), signal });
  const parts = plan.parts.map(({ snapshot, base }) => ({
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(plan.isNative ? (base === undefined ? {} : { parent: base }) : { compare: true }),
  }));
  const format = plan.isNative && native !== undefined ? native : 'tar';
  if (lxd === undefined && !offer.formats.includes(format))
    throw new PeerError(`the source sends files as ${offer.formats.join(', ')} only`);
  const wanted = parts.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [snapshot]));
  const answer = (): Promise<void> =>
    lxd === undefined
      ? peer.send({ type: 'answer', version: migrationVersion, format, parts })
      : peer.sendHeader(answerTo(lxd, wanted, 'refresh', pool));
  const ofSnapshot = ofContainerSnapshots(deps.records, refOf(name), arriving);
  let isAnswered = false;
  const fill = async (part: RefreshPart, context: SagaContext): Promise<void> => {
    if (!isAnswered) await answer();
    isAnswered = true;
    progress.begin(labelOf(refOf(name), part));
    const to = treeOf(ofSnapshot(part.snapshot), part.snapshot);
    if (lxd !== undefined) {
      const times = part.snapshot === undefined && isTwice(lxd) ? 2 : 1;
      const change = async ({ path }: ChangingTree): Promise<void> => {
        for (let time = 0; time < times; time += 1)
          await receiveInto(peer, path, featuresOf(answerTo(lxd, wanted, 'refresh', pool)), progress, context.signal);
      };
      return driver.deriveVolume(pool, treeOf(refOf(name), part.base), to, change, context.signal);
    }
    if (plan.isNative) {
      const incoming = peer.receiveStream((count) => void progress.add(count));
      const form = { kind: 'native', ...(part.snapshot === undefined ? { replace: true } : {}) } as const;
      await driver.importVolume(pool, to, incoming.bytes, form, context.signal);
      await incoming.drain();
    } else {
      await receiveChanges(
        deps.pools,
        peer,
        { pool: document.pool, base: treeOf(refOf(name), part.base), to, untrusted },
        progress,
        context.signal,
      );
    }
    if (part.snapshot !== undefined) return;
    const step = (await peer.receive(MigrationStep)) as MigrationStep;
    if (step.type !== 'sent') throw new PeerError(`the source says ${step.type} where all should be sent`);
  };
  await refreshNow(deps, caller, name, document, plan, arriving, fill, progress, signal);
}
