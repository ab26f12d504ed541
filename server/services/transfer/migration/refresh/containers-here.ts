// Refreshes a copy from a container of this server: its trees are cloned, or compared file by file.
import { containerUrl } from '../../../../api/project/project-names.ts';
import { errors } from '../../../../api/errors.ts';
import type { ContainerCreate } from '../../../../api/container/container.ts';
import type { Operation } from '../../../../api/operation.ts';
import type { VolumeRef } from '../../../../drivers/storage/driver.ts';
import type { SagaContext } from '../../../../operations/saga.ts';
import type { Caller } from '../../../shared/caller.ts';
import { lockOf } from '../../../shared/find-container.ts';
import { copyOrigin } from '../../../containers/create/copy.ts';
import { withRootIn } from '../../../containers/shared/draft.ts';
import { byAge, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { ofContainerSnapshots, type OfSnapshot } from '../../../storage/volume-shapes.ts';
import { receivedSnapshotKeys } from '../arriving.ts';
import { ownersOf, treeOf } from '../owners.ts';
import { trackProgress, type Progress } from '../progress.ts';
import { planRefresh, type RefreshPart } from './plan.ts';
import { labelOf, mine, plannedOf, refOf, refreshNow, stopped, type RefreshDeps } from './container-run.ts';
import { applyChanges, changedMembers, listTree, removedNames } from '../tree-changes.ts';

export function refreshFromHere(deps: RefreshDeps, caller: Caller, name: string, body: ContainerCreate): Operation {
  const { from, locks } = copyOrigin(deps, caller.project, body.source);
  if (from.container === name)
    throw errors.badRequest(`The container ${name} cannot be brought up to date from itself`);
  return deps.operations.start({
    description: 'Refreshing container',
    resources: { containers: [containerUrl(name)] },
    mayCancel: true,
    run: (handle, signal) =>
      deps.locks.runAll([lockOf(name), ...locks], async () => {
        await deps.locks.unshared(lockOf(name));
        const origin = copyOrigin(deps, caller.project, body.source);
        const document = stopped(deps, name);
        const snapshots = origin.snapshots.toSorted(byAge).map((one) => asArrived(deps, name, one, document.pool));
        const { driver } = deps.pools.use(document.pool);
        const plan = planRefresh({
          source: snapshots.map(plannedOf),
          target: mine(deps, document).map(plannedOf),
          canBeNative: false,
          cheapCopies: driver.capabilities.cheapCopies,
        });
        const progress = trackProgress({
          clock: deps.clock,
          onProgress: (metadata) => handle.update(metadata),
          signal,
        });
        const source = { pool: origin.from.pool, volume: refOf(origin.from.container), snapshot: origin.from.snapshot };
        const volume = refOf(name);
        const ofSnapshot = ofContainerSnapshots(deps.records, volume, snapshots);
        const target = { pool: document.pool, volume, ofSnapshot };
        const canClone = source.pool === document.pool && driver.capabilities.cheapCopies;
        const isCheap = canClone && (await haveOwnIds(deps, source, plan.parts));
        const fill = (part: RefreshPart, context: SagaContext): Promise<void> =>
          isCheap
            ? cloneHere(deps, document.pool, source, volume, part, context.signal)
            : compareHere(deps, source, target, part, progress, context.signal);
        await refreshNow(deps, caller, name, document, plan, snapshots, fill, progress, signal);
      }),
  });
}

interface LocalSource {
  readonly pool: string;
  readonly volume: VolumeRef;
  /** Set if the source is a snapshot. */
  readonly snapshot: string | undefined;
}

/** Whether all of them have the owners on disk that the container sees, as the copy is recorded to have. A snapshot has those of its time. */
async function haveOwnIds(deps: RefreshDeps, source: LocalSource, parts: readonly RefreshPart[]): Promise<boolean> {
  for (const part of parts) {
    const from = treeOf(source.volume, part.snapshot ?? source.snapshot);
    if ((await ownersOf(deps, source.pool, from)) !== undefined) return false;
  }
  return true;
}

/** Copies share their blocks, so no comparison is needed. */
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
  target: { readonly pool: string; readonly volume: VolumeRef; readonly ofSnapshot: OfSnapshot },
  part: RefreshPart,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const [there, here] = [deps.pools.use(source.pool), deps.pools.use(target.pool)];
  const from = treeOf(source.volume, part.snapshot ?? source.snapshot);
  const base = treeOf(target.volume, part.base);
  const to = treeOf(target.ofSnapshot(part.snapshot), part.snapshot);
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
