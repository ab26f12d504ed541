// The source of a copied container: another container or one of its snapshots (spec 2.5.1), and the snapshots to include.
import { isNoteKey } from '../../../api/container/container-config.ts';
import { isWithoutSnapshots, type ContainerSource } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import type { SnapshotSource, VolumeRef, VolumeSource } from '../../../drivers/storage/driver.ts';
import type { ContainerDocument, RootVolumeDocument } from '../../../records/documents.ts';
import type { Records } from '../../../records/records.ts';
import { applyTemplateKey } from '../files/apply-templates.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf } from '../../shared/find-container.ts';
import { qualifiedName } from '../../../api/project/project-names.ts';
import { needProject } from '../../shared/project-scope.ts';
import { withRootIn } from '../shared/draft.ts';
import { measured } from '../../storage/measure-snapshot.ts';
import { ofContainerSnapshots } from '../../storage/volume-shapes.ts';
import { putSnapshots, snapshotKey, snapshotsOf, type SnapshotEntry } from '../shared/snapshot-records.ts';

/** Where the files come from; stored in the intent of a creation. */
export interface CopyFrom {
  readonly container: string;
  readonly pool: string;
  /** Present if a snapshot is copied. */
  readonly snapshot?: string;
}

export interface CopyOrigin {
  readonly base: Pick<ContainerDocument, 'profiles' | 'config' | 'devices' | 'architecture'>;
  readonly locks: readonly string[];
  readonly from: CopyFrom;
  /** What was set on its root volume. */
  readonly written: RootVolumeDocument | undefined;
  readonly snapshots: readonly SnapshotEntry[];
}

/** `source.source` is `C` or `C/S` of `source.project`, or else of the request's project; snapshots are included unless the source is a
 *  snapshot, or `container_only`. */
export function copyOrigin(
  deps: Pick<ContainerDeps, 'records' | 'idMaps'>,
  project: string,
  source: ContainerSource,
): CopyOrigin {
  const { records } = deps;
  if (source.source === undefined || source.source === '') {
    throw errors.invalid('container', [
      { path: 'source.source', message: 'is required: the name of the container to copy, or CONTAINER/SNAPSHOT' },
    ]);
  }
  const slash = source.source.indexOf('/');
  const asked = slash < 0 ? source.source : source.source.slice(0, slash);
  const name = qualifiedName(needProject(records, source.project || project), asked);
  const entry = records.containers.get(name);
  if (entry === undefined || entry.document.lifecycle !== 'ready') throw errors.notFound('container', name);
  const { document } = entry;
  const locks = [lockOf(name)];
  if (slash < 0) {
    const snapshots = isWithoutSnapshots(source) ? [] : copiedSnapshots(deps, document.uuid);
    const from = { container: name, pool: document.pool };
    return { base: baseHere(deps, document), locks, from, written: document.volume, snapshots };
  }
  const snapshot = source.source.slice(slash + 1);
  const found = records.snapshots.get(snapshotKey(document.uuid, snapshot))?.document;
  if (found === undefined || found.lifecycle !== 'ready') throw errors.notFound('snapshot', source.source);
  const from = { container: name, pool: document.pool, snapshot };
  return { base: baseHere(deps, found), locks, from, written: found.volume, snapshots: [] };
}

/** Restoring one must not give the copy the original's addresses. */
const copiedSnapshots = (deps: Pick<ContainerDeps, 'records' | 'idMaps'>, uuid: string): readonly SnapshotEntry[] =>
  snapshotsOf(deps.records, uuid)
    .filter(({ document }) => document.lifecycle === 'ready')
    .map(({ name, document }) => ({ name, document: { ...document, config: baseHere(deps, document).config } }));

/** A copy is another machine: of the server's keys only the base image and the owners of its files stay. */
export function copyBase(document: CopyOrigin['base']): CopyOrigin['base'] {
  const { architecture, profiles, devices } = document;
  const kept = Object.entries(document.config).filter(
    ([key]) =>
      !isNoteKey(key) &&
      (!key.startsWith('volatile.') || key === 'volatile.base_image' || key === 'volatile.last_state.idmap'),
  );
  return { architecture, profiles, devices, config: { ...Object.fromEntries(kept), [applyTemplateKey]: 'copy' } };
}

/** The files of the original, on this host, come unchanged. */
function baseHere({ idMaps }: Pick<ContainerDeps, 'idMaps'>, document: CopyOrigin['base']): CopyOrigin['base'] {
  const base = copyBase(document);
  return { ...base, config: { ...base.config, ...idMaps.unfinished(document) } };
}

const volumeOf = (container: string): VolumeRef => ({ type: 'container', name: container });

export function copyVolumeSource(pools: ContainerDeps['pools'], from: CopyFrom, toPool: string): VolumeSource {
  return pools.copySource(from.pool, volumeOf(from.container), from.snapshot, toPool);
}

/** The volume of the new container exists. Undo deletes it, and its snapshot records. */
export async function copySnapshots(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  from: CopyFrom,
  to: { readonly name: string; readonly document: ContainerDocument },
  snapshots: readonly SnapshotEntry[],
  signal: AbortSignal,
): Promise<void> {
  const place = { name: to.name, pool: to.document.pool };
  await copySnapshotFiles(deps, from, place, snapshots, signal);
  const copied = snapshots.map((one) => withOwnRoot(deps.records, to.name, one, to.document.pool));
  const owner = { pool: place.pool, volume: volumeOf(to.name) };
  await putSnapshots(deps.records, to.document.uuid, await measured(deps, owner, copied, signal));
}

export async function copySnapshotFiles(
  { records, pools }: Pick<ContainerDeps, 'records' | 'pools'>,
  from: CopyFrom,
  to: { readonly name: string; readonly pool: string },
  snapshots: readonly SnapshotEntry[],
  signal: AbortSignal,
): Promise<void> {
  const ofSnapshot = ofContainerSnapshots(records, volumeOf(to.name), snapshots);
  for (const { name } of snapshots) {
    const source = snapshotSource(pools, from, name, to.pool);
    await pools.createSnapshot(to.pool, { volume: ofSnapshot(name), snapshot: name }, source, signal);
  }
}

function snapshotSource(pools: ContainerDeps['pools'], from: CopyFrom, name: string, toPool: string): SnapshotSource {
  const volume = volumeOf(from.container);
  const source = pools.copySource(from.pool, volume, name, toPool);
  return source.kind === 'tree' ? source : { kind: 'copy', from: { volume, snapshot: name } };
}

/** Restoring the snapshot must not require the original's pool. */
function withOwnRoot(
  records: Records,
  container: string,
  { name, document }: SnapshotEntry,
  pool: string,
): SnapshotEntry {
  return { name, document: { ...document, devices: withRootIn(records, container, document, pool) } };
}
