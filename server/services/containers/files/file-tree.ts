// Finds the current file tree of a container: through its first process while it runs, on disk otherwise.
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errors } from '../../../api/errors.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { statusCodes } from '../../../api/status.ts';
import type { FileIds, FileRoot } from '../../../drivers/files/driver.ts';
import type { IdMapEntry } from '../../../drivers/runtime/driver.ts';
import { holdsHostId, hostRootIds, toGuestId, toHostId } from '../../../drivers/runtime/idmap/id-map.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { Records } from '../../../records/records.ts';
import type { SagaKind } from '../../../records/saga-params.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';

export type FileTreeDeps = Pick<ContainerDeps, 'records' | 'runtime' | 'pools' | 'view' | 'locks' | 'idMaps'>;

/** How long it may take to notice a container's end. */
const settleMs = 3000;
const lookAgainMs = 20;

/** Host directory of the container's volume: `rootfs/`, `metadata.yaml`, `templates/`. */
export function volumeDir(deps: Pick<FileTreeDeps, 'pools'>, name: string, pool: string): string {
  return deps.pools.volumePath(pool, { type: 'container', name });
}

export async function fileTree(deps: FileTreeDeps, name: string): Promise<FileRoot> {
  for (let waitedMs = 0; waitedMs <= settleMs; waitedMs += lookAgainMs) {
    const { document } = readyContainer(deps.records, name);
    const isSynced = isTrue(deps.records.pools.get(document.pool)?.document.config['sync.volumes'] ?? '');
    // During a start neither tree is right; the start ends soon.
    if (deps.view.statusCode(name) === statusCodes.starting)
      await deps.locks.run(lockOf(name), () => Promise.resolve());
    const isStopped = deps.runtime.probe(name).status === 'stopped';
    if (isStopped || deps.runtime.fileView === undefined) {
      return {
        ...treeOnDisk(deps, { name, document }, join(volumeDir(deps, name, document.pool), 'rootfs')),
        isSynced,
      };
    }
    const tree = runningTree(deps, name, isSynced);
    if (tree !== undefined) return tree;
    // Its init has ended, which is noticed soon.
    await sleep(lookAgainMs);
  }
  throw errors.unavailable(`The files of container ${name} cannot be reached while it is stopping; try again`);
}

function runningTree(deps: FileTreeDeps, name: string, isSynced: boolean): FileRoot | undefined {
  const view = deps.runtime.fileView?.(name);
  if (view === undefined) return undefined;
  const { path, idmap, isCurrent } = view;
  return { path, ids: idsOf(idmap, idmap.length > 0), label: labelOf(name), isCurrent, isSynced };
}

/** Also for work before a start, while the container counts as stopped. */
export function treeOnDisk(
  deps: Pick<FileTreeDeps, 'records' | 'runtime' | 'idMaps'>,
  { name, document }: { readonly name: string; readonly document: ContainerDocument },
  rootfs: string,
): FileRoot {
  const mapsAtStart = deps.runtime.rootfsIdmapped;
  return {
    path: rootfs,
    ids: ownIds() ?? idsOf(mapOnDisk(rootfs, deps.idMaps.filesOf(document)), false),
    label: labelOf(name),
    // If a start changes the files' owners on disk, a file made during it would keep wrong ids.
    isCurrent: () => mapsAtStart || deps.runtime.probe(name).status === 'stopped',
    lossOf: () =>
      isStaying(deps.records, { name, document })
        ? undefined
        : 'the container is being moved, and the change might stay behind: try again when it has moved',
  };
}

/** Sagas that copy the files of a container, and then delete the original. */
const movers: ReadonlySet<string> = new Set<SagaKind>(['container-move', 'container-leave']);

/** Neither has it moved since the document was read, nor does it move now. */
function isStaying(
  records: Records,
  { name, document }: { readonly name: string; readonly document: ContainerDocument },
): boolean {
  const now = records.containers.get(name)?.document;
  if (now?.uuid !== document.uuid || now.pool !== document.pool) return false;
  return !records.sagas
    .list()
    .some(
      ({ document: { kind, holds = [] } }) =>
        movers.has(kind) && holds.some((held) => held.kind === 'containers' && held.name === name),
    );
}

const labelOf = (name: string): string => `container ${name}`;

/** Files on disk have their own ids until a start shifts them to the mapped ids, on hosts that cannot map them at the mount. */
function mapOnDisk(rootfs: string, maps: readonly (readonly IdMapEntry[])[]): readonly IdMapEntry[] {
  const owner = lstatSync(rootfs).uid;
  return maps.find((map) => holdsHostId(map, 'uid', owner)) ?? [];
}

function idsOf(map: readonly IdMapEntry[], madeByRootOnly: boolean): FileIds {
  return {
    toHost: (kind, id) => toHostId(map, kind, id),
    toGuest: (kind, hostId) => toGuestId(map, kind, hostId),
    ...(madeByRootOnly ? { maker: hostRootIds(map) } : {}),
  };
}

/** An unprivileged daemon makes files as its own user, shown as the container's root. */
function ownIds(): FileIds | undefined {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (own.uid === 0) return undefined;
  return {
    toHost: (kind, id) => (id === 0 || id === own[kind] ? own[kind] : undefined),
    toGuest: (kind, hostId) => (hostId === own[kind] ? 0 : hostId),
  };
}
