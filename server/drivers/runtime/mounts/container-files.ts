// Gives a container's root file system and volumes to its ids, by idmapped mounts or on disk, and removes its run directory.
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isTrue } from '../../../api/text/value-checks.ts';
import type { Log } from '../../../lib/log.ts';
import { driverErrors } from '../../driver-error.ts';
import type { IdMapEntry, MountRun, RunConfig } from '../driver.ts';
import { hostIdMap, hostRootIds } from '../idmap/id-map.ts';
import { mapText, planOwners } from '../idmap/file-owners.ts';
import { makeNode, nodeMount, removeNodes } from './device-nodes.ts';
import type { LxcPaths } from '../lxc-paths.ts';
import { canMountMapped, mountAgain, type SecondMount, unmount } from './mapped-mounts.ts';
import { readShiftMark } from '../idmap/shift-mark.ts';
import { shiftOwnership } from '../idmap/shift-ownership.ts';
import type { Libc } from '../host/syscalls.ts';
import type { UserNamespaces } from '../idmap/user-namespaces.ts';

export interface FileDeps {
  readonly paths: LxcPaths;
  readonly log: Log;
  readonly rootfsIdmapped: boolean;
  readonly libc: Libc | undefined;
  readonly namespaces: UserNamespaces;
}

/** The run config with every path replaced by one that the container's root can traverse: LXC mounts as that user, who cannot pass private
 *  directories of the host. */
export async function prepareFiles(deps: FileDeps, run: RunConfig, signal: AbortSignal): Promise<RunConfig> {
  const { paths } = deps;
  makeContainerDir(paths, run);
  const rootFiles = { source: run.rootfs, fileMaps: run.fileMaps, fixed: fixedBy.protection(run) };
  const rootfs = await place(deps, run, {
    source: run.rootfs,
    target: paths.mappedRootfs(run.name),
    kind: 'dir',
    recursive: false,
    map: await mapFor(deps, run, rootFiles, signal),
  });
  const mounts: MountRun[] = [];
  for (const [index, mount] of [...run.mounts, ...(await makeNodes(deps, run))].entries()) {
    if (mount.optional && !existsSync(mount.source)) continue;
    refuseLinks(run, mount);
    const { kind, recursive, propagation = 'private' } = mount;
    const map = await mapOfMount(deps, run, mount, signal);
    const target = paths.mappedMount(run.name, index);
    const nodes = mount.nodes === true;
    const flags = mount.flags ?? [];
    const second = {
      source: mount.source,
      target,
      kind,
      recursive,
      map,
      nodes,
      propagation,
      flags,
      within: mount.within,
      block: mount.block,
      readonly: mount.readonly,
    };
    mounts.push({ ...mount, source: await place(deps, run, second) });
  }
  return { ...run, rootfs, mounts };
}

/** The container's root must be able to pass; other users of the host must not. */
function makeContainerDir(paths: LxcPaths, run: RunConfig): void {
  const dir = paths.containerDir(run.name);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chownSync(dir, 0, hostRootIds(run.idmap).gid);
  chmodSync(dir, 0o710);
}

async function makeNodes(deps: FileDeps, run: RunConfig): Promise<readonly MountRun[]> {
  const dir = deps.paths.nodesDir(run.name);
  removeNodes(dir);
  const made: MountRun[] = [];
  for (const node of run.nodes ?? []) made.push(nodeMount(node, await makeNode(dir, node, run.idmap)));
  return made;
}

/** Files that must belong to the container's ids. */
export interface OwnedFiles {
  readonly source: string;
  /** See RunConfig. */
  readonly fileMaps?: readonly (readonly IdMapEntry[])[] | undefined;
  /** Why their ids on disk must stay. */
  readonly fixed?: string | undefined;
}

/** Whether files there can be mounted through a map: not every file system can, even on a host that can. */
export async function canMapAt(deps: Omit<FileDeps, 'paths' | 'log'>, path: string): Promise<boolean> {
  const { libc, namespaces, rootfsIdmapped } = deps;
  return rootfsIdmapped && libc !== undefined && (await canMountMapped({ libc, namespaces }, path));
}

/** The map for mounting the files; if that is impossible, shifts them to the mapped ids on disk, once. */
export async function mapFor(
  deps: FileDeps,
  run: Pick<RunConfig, 'name' | 'idmap'>,
  files: OwnedFiles,
  signal: AbortSignal,
): Promise<readonly IdMapEntry[] | undefined> {
  const { source, fileMaps, fixed } = files;
  const mark = await readShiftMark(source);
  const marked = mark.maps ?? [];
  const maps = [...(fileMaps ?? (marked.length === 0 ? [await hostIdMap()] : [])), ...marked];
  const canMap = await canMapAt(deps, source);
  // A record made where files are mapped at the mount says nothing about files here.
  const now = {
    owner: ownerOf(run, source),
    maps,
    unrecorded: fileMaps === undefined || deps.rootfsIdmapped !== canMap,
    unfinished: mark.maps !== undefined,
  };
  const { takeOut, putIn, through } = planOwners(now, run.idmap, canMap);
  const changes = [
    ...takeOut.map((from) => ({ from, to: [] })),
    ...(putIn === undefined ? [] : [{ from: [], to: putIn }]),
  ];
  const isOfAnother = deps.rootfsIdmapped && !canMap && fileMaps === undefined && takeOut.length > 0;
  const obstacle = fixed ?? (isOfAnother ? 'another container may be using them' : undefined);
  if (changes.length > 0 && obstacle !== undefined) {
    const reason = `the files in ${source} would have to be shifted from ids ${mapText(maps[0] ?? [])} to ${mapText(run.idmap)}, and ${obstacle}`;
    throw driverErrors.failed(`Files cannot be shifted to the ids of container "${run.name}"`, new Error(reason));
  }
  if (changes.length === 0 && mark.maps === undefined) return through;
  await mark.during([...takeOut, ...(putIn === undefined ? [] : [putIn])], async () => {
    for (const { from, to } of changes) {
      const what = { container: run.name, path: source, from: mapText(from), to: mapText(to) };
      deps.log.info('shifting files to other ids', what);
      await shiftOwnership(source, from, to, signal);
    }
  });
  return through;
}

export async function mapOfMount(
  deps: FileDeps,
  run: Pick<RunConfig, 'name' | 'idmap'>,
  mount: MountRun,
  signal: AbortSignal,
): Promise<readonly IdMapEntry[] | undefined> {
  if (mount.idmapped !== true) return undefined;
  return mapFor(deps, run, { ...mount, fixed: fixedBy.hostPath(mount) }, signal);
}

/** Why files of a container, or of a host path, cannot be shifted to other ids. */
export const fixedBy = {
  protection: (run: Pick<RunConfig, 'config'>): string | undefined =>
    isTrue(run.config['security.protection.shift']) ? 'security.protection.shift forbids that' : undefined,
  hostPath: (mount: MountRun): string | undefined =>
    mount.hostPath === true ? 'this host cannot map them while they are mounted (shift needs that)' : undefined,
};

async function place(
  deps: FileDeps,
  run: RunConfig,
  mount: SecondMount & { readonly kind: MountRun['kind'] },
): Promise<string> {
  const { libc, namespaces } = deps;
  const isPlain = (mount.flags ?? []).length === 0;
  if (!isPlain && libc === undefined) throw driverErrors.notSupported('raw.mount.options of disks needs koffi (npm)');
  const isFree = mount.within === undefined;
  const isBlock = mount.block !== undefined;
  if (isBlock && libc === undefined) throw driverErrors.notSupported('Disks that are block devices need koffi (npm)');
  if (!isFree && libc === undefined)
    throw driverErrors.notSupported('Disks that show paths of the host in a restricted project need koffi (npm)');
  // Root of a privileged container can reach everything.
  if ((run.idmap.length === 0 && mount.nodes !== true && isPlain && isFree && !isBlock) || libc === undefined)
    return mount.source;
  ownerOf(run, mount.source);
  unmount(libc, mount.target);
  clearPlace(mount.target, mount.kind);
  if (mount.kind === 'dir') mkdirSync(mount.target, { recursive: true });
  else writeFileSync(mount.target, '');
  await mountAgain({ libc, namespaces }, mount);
  return mount.target;
}

/** LXC makes the mount point before it enters the container: a link would lead it into the host. */
function refuseLinks(run: RunConfig, { device, target }: MountRun): void {
  let path = '';
  for (const part of target.split('/').filter((each) => each !== '')) {
    path += `/${part}`;
    const found = lstatSync(join(run.rootfs, path), { throwIfNoEntry: false });
    if (found === undefined || (!found.isDirectory() && !found.isSymbolicLink())) return;
    if (found.isDirectory()) continue;
    const leads = `${path} in it is a link to ${readlinkSync(join(run.rootfs, path))}: name the place itself`;
    throw driverErrors.invalid(
      `Cannot mount the device ${device} of container "${run.name}" at ${target}`,
      new Error(leads),
    );
  }
}

/** An earlier start's leftover may be of the other kind. Removes at most an empty directory. */
function clearPlace(target: string, kind: MountRun['kind']): void {
  const found = lstatSync(target, { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory() === (kind === 'dir')) return;
  if (found.isDirectory()) rmdirSync(target);
  else unlinkSync(target);
}

function ownerOf(run: Pick<RunConfig, 'name'>, path: string): number {
  try {
    return statSync(path).uid;
  } catch (error) {
    throw driverErrors.failed(`Cannot start container "${run.name}": ${path} is missing`, error);
  }
}

/** Idempotent. */
export function unmountFiles(deps: Pick<FileDeps, 'paths' | 'libc'>, name: string): void {
  removeNodes(deps.paths.nodesDir(name));
  const dir = deps.paths.containerDir(name);
  if (deps.libc === undefined || !existsSync(dir)) return;
  for (const entry of readdirSync(dir)) {
    if (entry === 'rootfs' || entry === 'netns' || entry.startsWith('mount-')) unmount(deps.libc, `${dir}/${entry}`);
  }
}

/** Never recursive, except for LXC's AppArmor profile, which stays when a start fails or a monitor dies: a remaining mount contains the
 *  container's own files. */
export function removeContainerDir(deps: Pick<FileDeps, 'paths' | 'libc'>, name: string): void {
  const dir = deps.paths.containerDir(name);
  if (!existsSync(dir)) return;
  unmountFiles(deps, name);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name !== 'apparmor') rmdirSync(`${dir}/${entry.name}`);
    else rmSync(`${dir}/${entry.name}`, { recursive: entry.name === 'apparmor', force: true });
  }
  rmdirSync(dir);
}

/** LXC gives up if the container's root cannot traverse its path; other users get no further access. */
export function makePassable(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  for (const path of [dirname(dir), dir]) {
    const mode = statSync(path).mode & 0o7777;
    if ((mode & 0o011) !== 0o011) chmodSync(path, mode | 0o011);
  }
}
