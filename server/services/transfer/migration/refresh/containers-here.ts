// Refreshes a copy from a container of this server: its trees are cloned, or compared file by file.
import { containerUrl } from '../../../../api/project/project-names.ts';
import { errors } from '../../../../api/errors.ts';
import type { ContainerCreate } from '../../../../api/container/container.ts';
import type { Operation } from '../../../../api/operation.ts';
import type { TreeRef } from '../../../../drivers/storage/driver.ts';
import type { Caller } from '../../../shared/caller.ts';
import { lockOf } from '../../../shared/find-container.ts';
import { copyOrigin } from '../../../containers/create/copy.ts';
import { withRootIn } from '../../../containers/shared/draft.ts';
import { byAge, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { ofContainerSnapshots } from '../../../storage/volume-shapes.ts';
import { receivedSnapshotKeys } from '../arriving.ts';
import { ownersOf, type OwnerOf } from '../owners.ts';
import { trackProgress } from '../progress.ts';
import { mine, refOf, refreshNow, stopped, type RefreshDeps } from './container-run.ts';
import { partsFromHere } from './parts.ts';
import { plannedOf } from './plan.ts';

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
        const progress = trackProgress({
          clock: deps.clock,
          onProgress: (metadata) => handle.update(metadata),
          signal,
        });
        const { pool, container, snapshot } = origin.from;
        const ownersThere = (tree: TreeRef): Promise<OwnerOf | undefined> => ownersOf(deps, pool, tree);
        const source = { pool, volume: refOf(container), snapshot, ownersOf: ownersThere };
        const ref = refOf(name);
        const ofSnapshot = ofContainerSnapshots(deps.records, ref, snapshots);
        const target = { pool: document.pool, ref, ofSnapshot };
        const known = { offered: snapshots.map(plannedOf), known: mine(deps, document).map(plannedOf) };
        const parts = await partsFromHere(deps, source, target, known, progress);
        await refreshNow(deps, { caller, name, document, progress, signal }, parts, snapshots);
      }),
  });
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
