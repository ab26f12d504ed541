// Bringing an older copy of a container up to date (`refresh: true`), from a container of this server or from another server.
import { isWithoutSnapshots, type ContainerCreate } from '../../api/container/container.ts';
import { errors } from '../../api/errors.ts';
import {
  ContainerMigrationOffer,
  MigrationStep,
  migrationVersion,
  type ContainerSnapshotOffer,
} from '../../api/container/migration-messages.ts';
import type { Operation } from '../../api/operation.ts';
import type { TreeRef, VolumeRef } from '../../drivers/storage/driver.ts';
import type { OperationHandle } from '../../operations/manager.ts';
import type { SagaContext } from '../../operations/saga.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Caller } from '../caller.ts';
import { copyOrigin } from '../containers/life/copy.ts';
import type { ContainerDeps } from '../containers/deps.ts';
import { lockOf, readyContainer } from '../containers/find.ts';
import { containerUrl, plainName, qualifiedName } from '../../api/project/project-names.ts';
import { withRootIn } from '../containers/life/draft.ts';
import { snapshotsOf, type SnapshotEntry } from '../containers/snapshots/records.ts';
import { snapshotUrlOf } from '../containers/snapshots/snapshots.ts';
import type { ConnectDeps } from './connect.ts';
import { receivedSnapshotKeys, snapshotEntry } from './container-target.ts';
import { ownersOf } from './owners.ts';
import { PeerError, type Peer } from './peer.ts';
import { trackProgress, type Progress } from './progress.ts';
import { planRefresh, type PlannedSnapshot, type RefreshPart, type RefreshPlan } from './refresh-plan.ts';
import { refreshContainerSaga, type RefreshParams } from './sagas/container-refresh.ts';
import { formatsOf, receiveChanges } from './streams.ts';
import { startMigration } from './operation.ts';
import { takeOffer, targetMeeting, type TargetDeps } from './target.ts';
import { applyChanges, changedMembers, listTree, removedNames } from './tree-changes.ts';
import { deleteSnapshotSaga } from '../containers/sagas/snapshot-delete.ts';

export type RefreshDeps = Pick<ContainerDeps, 'operations' | 'events' | 'locks' | 'sagas' | 'runtime' | 'idMaps'> &
  TargetDeps &
  ConnectDeps;

const refOf = (name: string): VolumeRef => ({ type: 'container', name });
const treeOf = (volume: VolumeRef, snapshot: string | undefined): TreeRef => ({
  volume,
  ...(snapshot === undefined ? {} : { snapshot }),
});

/** The container that a creation with `refresh` is about; undefined when there is none: it is then an ordinary copy. */
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

/** Config and devices of the copy stay as they are. Throws badRequest when it runs. */
export function refreshContainer(deps: RefreshDeps, caller: Caller, name: string, body: ContainerCreate): Operation {
  stopped(deps, name);
  return body.source.type === 'copy' ? fromHere(deps, caller, name, body) : fromElsewhere(deps, caller, name, body);
}

function fromHere(deps: RefreshDeps, caller: Caller, name: string, body: ContainerCreate): Operation {
  const { from, locks } = copyOrigin(deps.records, caller.project, body.source);
  if (from.container === name)
    throw errors.badRequest(`The container ${name} cannot be brought up to date from itself`);
  return deps.operations.start({
    description: 'Refreshing container',
    resources: { containers: [containerUrl(name)] },
    mayCancel: true,
    run: (handle, signal) =>
      deps.locks.runAll([lockOf(name), ...locks], async () => {
        await deps.locks.unshared(lockOf(name));
        const origin = copyOrigin(deps.records, caller.project, body.source);
        const document = stopped(deps, name);
        const snapshots = origin.snapshots.toSorted(byAge).map((one) => asArrived(deps, name, one, document.pool));
        const { driver } = deps.pools.use(document.pool);
        const plan = planRefresh({
          source: snapshots.map(plannedOf),
          target: mine(deps, document).map(plannedOf),
          canBeNative: false,
          cheapCopies: driver.capabilities.cheapCopies,
        });
        const progress = trackProgress({ clock: deps.clock, tell: (metadata) => handle.update(metadata), signal });
        const source = { pool: origin.from.pool, volume: refOf(origin.from.container), snapshot: origin.from.snapshot };
        const owners = await ownersOf(deps, source.pool, treeOf(source.volume, source.snapshot));
        const isCheap = source.pool === document.pool && driver.capabilities.cheapCopies && owners === undefined;
        const bring = (part: RefreshPart, context: SagaContext): Promise<void> =>
          isCheap
            ? cloneHere(deps, document.pool, source, refOf(name), part, context.signal)
            : compareHere(deps, source, { pool: document.pool, volume: refOf(name) }, part, progress, context.signal);
        await refreshNow(deps, caller, name, document, plan, snapshots, bring, progress, signal);
      }),
  });
}

interface LocalSource {
  readonly pool: string;
  readonly volume: VolumeRef;
  /** When a snapshot is what is copied. */
  readonly snapshot: string | undefined;
}

/** Copies share their blocks: nothing needs to be compared. */
async function cloneHere(
  deps: RefreshDeps,
  poolOf: string,
  source: LocalSource,
  volume: VolumeRef,
  part: RefreshPart,
  signal: AbortSignal,
): Promise<void> {
  const { driver, pool } = deps.pools.use(poolOf);
  const from = treeOf(source.volume, part.snapshot ?? source.snapshot);
  await driver.deriveVolume(pool, from, treeOf(volume, part.snapshot), () => Promise.resolve(), signal);
}

async function compareHere(
  deps: RefreshDeps,
  source: LocalSource,
  target: { readonly pool: string; readonly volume: VolumeRef },
  part: RefreshPart,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const [there, here] = [deps.pools.use(source.pool), deps.pools.use(target.pool)];
  const from = treeOf(source.volume, part.snapshot ?? source.snapshot);
  const [base, to] = [treeOf(target.volume, part.base), treeOf(target.volume, part.snapshot)];
  progress.begin(labelOf(target.volume, part));
  const listing = await listTree(here.driver, here.pool, base, signal);
  const ownerOf = await ownersOf(deps, source.pool, from);
  await here.driver.deriveVolume(
    here.pool,
    base,
    to,
    (tree) =>
      there.driver.exportVolume(
        there.pool,
        from,
        { kind: 'tar', ...(ownerOf === undefined ? {} : { ownerOf }) },
        (archive) => {
          const seen = new Set<string>();
          const changed = counted(changedMembers(archive, listing, seen), progress);
          return applyChanges(tree, listing, changed, () => Promise.resolve(removedNames(listing, seen)));
        },
        signal,
      ),
    signal,
  );
}

async function* counted(bytes: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const piece of bytes) {
    void progress.add(piece.length);
    yield piece;
  }
}

function fromElsewhere(deps: RefreshDeps, caller: Caller, name: string, body: ContainerCreate): Operation {
  return startMigration(deps, {
    description: 'Refreshing container',
    resources: { containers: [containerUrl(name)] },
    meeting: targetMeeting(body.source),
    run: async (peer, handle, signal) => {
      const offer = (await takeOffer(peer, ContainerMigrationOffer)) as ContainerMigrationOffer;
      if (offer.live === true)
        throw errors.badRequest(
          `The copy ${name} cannot be refreshed from a live source: give live: false at the source`,
        );
      // It holds its lock while it sends, and we would wait for that.
      if (offer.uuid === readyContainer(deps.records, name).document.uuid)
        throw errors.badRequest(`The container ${name} cannot be brought up to date from itself`);
      await deps.locks.run(lockOf(name), () => receiveRefresh(deps, caller, name, body, offer, peer, handle, signal));
      // It is here and recorded: that the source left early changes nothing any more.
      await peer.send({ type: 'done' }).catch(() => {});
    },
  });
}

async function receiveRefresh(
  deps: RefreshDeps,
  caller: Caller,
  name: string,
  body: ContainerCreate,
  offer: ContainerMigrationOffer,
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
  const [native] = formatsOf(deps.pools, document.pool).filter((one) => one !== 'tar');
  const plan = planRefresh({
    source: offered,
    target: known,
    canBeNative: native !== undefined && offer.formats.includes(native),
    cheapCopies: driver.capabilities.cheapCopies,
  });
  const progress = trackProgress({ clock: deps.clock, tell: (metadata) => handle.update(metadata), signal });
  const parts = plan.parts.map(({ snapshot, base }) => ({
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(plan.isNative ? (base === undefined ? {} : { parent: base }) : { compare: true }),
  }));
  const format = plan.isNative && native !== undefined ? native : 'tar';
  if (!offer.formats.includes(format))
    throw new PeerError(`the source sends files as ${offer.formats.join(', ')} only`);
  let isAnswered = false;
  const bring = async (part: RefreshPart, context: SagaContext): Promise<void> => {
    if (!isAnswered) await peer.send({ type: 'answer', version: migrationVersion, format, parts });
    isAnswered = true;
    progress.begin(labelOf(refOf(name), part));
    const to = treeOf(refOf(name), part.snapshot);
    if (plan.isNative) {
      const incoming = peer.receiveStream((count) => void progress.add(count));
      const form = { kind: 'native', ...(part.snapshot === undefined ? { replace: true } : {}) } as const;
      await driver.importVolume(pool, to, incoming.bytes, form, context.signal);
      await incoming.drain();
    } else {
      await receiveChanges(
        deps.pools,
        peer,
        { pool: document.pool, base: treeOf(refOf(name), part.base), to },
        progress,
        context.signal,
      );
    }
    if (part.snapshot !== undefined) return;
    const step = (await peer.receive(MigrationStep)) as MigrationStep;
    if (step.type !== 'sent') throw new PeerError(`the source says ${step.type} where all should be sent`);
  };
  const arriving = offered.map((one) => snapshotEntry(deps.records, name, one, document.pool));
  await refreshNow(deps, caller, name, document, plan, arriving, bring, progress, signal);
}

/** The caller holds the locks. Snapshots of a name that comes anew go first, other stale ones when all is here. */
async function refreshNow(
  deps: RefreshDeps,
  caller: Caller,
  name: string,
  { uuid, pool }: ContainerDocument,
  plan: RefreshPlan,
  offered: readonly SnapshotEntry[],
  bring: (part: RefreshPart, context: SagaContext) => Promise<void>,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const coming = new Set(plan.parts.map((part) => part.snapshot));
  const added = offered.filter((one) => coming.has(one.name));
  const drop = async (snapshot: string): Promise<void> => {
    const params = { container: name, uuid, pool, snapshot };
    await deps.sagas.run(deleteSnapshotSaga(deps), params, { signal });
    const context = { snapshot_name: `${plainName(name)}/${snapshot}` };
    deps.events.lifecycle('container-snapshot-deleted', snapshotUrlOf(name, snapshot), context, caller.requestor);
  };
  for (const snapshot of plan.stale.filter((one) => coming.has(one))) await drop(snapshot);
  const params: RefreshParams = { name, uuid, pool, added };
  const work = {
    bring: async (_params: RefreshParams, context: SagaContext): Promise<void> => {
      for (const part of plan.parts) {
        await bring(part, context);
        progress.end();
      }
    },
  };
  await deps.sagas.run(refreshContainerSaga(deps, work), params, { signal });
  for (const snapshot of plan.stale.filter((one) => !coming.has(one))) await drop(snapshot);
  deps.events.lifecycle('container-updated', containerUrl(name), undefined, caller.requestor);
}

function stopped(deps: RefreshDeps, name: string): ContainerDocument {
  const { document } = readyContainer(deps.records, name);
  if (deps.runtime.probe(name).status !== 'stopped') throw errors.running(name, 'bringing it up to date');
  return document;
}

const mine = (deps: RefreshDeps, { uuid }: ContainerDocument): readonly SnapshotEntry[] =>
  snapshotsOf(deps.records, uuid).filter(({ document }) => document.lifecycle === 'ready');

const plannedOf = ({ name, document }: SnapshotEntry): PlannedSnapshot => ({ name, createdAt: document.createdAt });

const byAge = (a: SnapshotEntry, b: SnapshotEntry): number =>
  Date.parse(a.document.createdAt) - Date.parse(b.document.createdAt) || (a.name < b.name ? -1 : 1);

const asArrived = (
  { records }: RefreshDeps,
  container: string,
  { name, document }: SnapshotEntry,
  pool: string,
): SnapshotEntry => ({
  name,
  document: {
    ...document,
    config: receivedSnapshotKeys(document.config),
    devices: withRootIn(records, container, document, pool),
  },
});

const labelOf = (volume: VolumeRef, { snapshot }: RefreshPart): string =>
  [plainName(volume.name), ...(snapshot === undefined ? [] : [snapshot])].join('/');
