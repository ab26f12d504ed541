// Gives a container's root file system and volumes to its ids, by mapped mounts or on disk, and takes its run directory apart again.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Log } from '../../lib/log.ts';
import { DriverError } from '../driver-error.ts';
import type { IdMapEntry, MountRun, RunConfig } from './driver.ts';
import { hostIdMap, hostRootIds } from './id-map.ts';
import { makeNode, nodeMount, removeNodes } from './lxc-nodes.ts';
import type { LxcPlaces } from './lxc-places.ts';
import { mountAgain, type SecondMount, unmount } from './mapped-mounts.ts';
import { shiftOwnership } from './shift-ownership.ts';
import type { Libc } from './syscalls.ts';
import type { UserNamespaces } from './user-namespaces.ts';

export interface FileDeps {
  readonly places: LxcPlaces;
  readonly log: Log;
  readonly rootfsIdmapped: boolean;
  readonly libc: Libc | undefined;
  readonly namespaces: UserNamespaces;
}

/**
 * The run config with every path replaced by one that the container's root can reach: LXC mounts as that user, who has no way
 * through private directories of the host.
 */
export async function prepareFiles(deps: FileDeps, run: RunConfig, signal: AbortSignal): Promise<RunConfig> {
  const { places } = deps;
  makeContainerDir(places, run);
  const rootfs = await place(deps, run, {
    source: run.rootfs,
    target: places.mappedRootfs(run.name),
    kind: 'dir',
    recursive: false,
    map: await mapFor(deps, run, run.rootfs, signal),
  });
  const mounts: MountRun[] = [];
  for (const [index, mount] of [...run.mounts, ...(await makeNodes(deps, run))].entries()) {
    if (mount.optional && !existsSync(mount.source)) continue;
    const { kind, recursive } = mount;
    const map = mount.idmapped === true ? await mapFor(deps, run, mount.source, signal) : undefined;
    const target = places.mappedMount(run.name, index);
    const nodes = mount.nodes === true;
    const second = { source: mount.source, target, kind, recursive, map, nodes };
    mounts.push({ ...mount, source: await place(deps, run, second) });
  }
  return { ...run, rootfs, mounts };
}

/** The container's root has to pass through; other users of the host must not. */
function makeContainerDir(places: LxcPlaces, run: RunConfig): void {
  const dir = places.containerDir(run.name);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chownSync(dir, 0, hostRootIds(run.idmap).gid);
  chmodSync(dir, 0o710);
}

async function makeNodes(deps: FileDeps, run: RunConfig): Promise<readonly MountRun[]> {
  const dir = deps.places.nodesDir(run.name);
  removeNodes(dir);
  const made: MountRun[] = [];
  for (const node of run.nodes ?? []) made.push(nodeMount(node, await makeNode(dir, node, run.idmap)));
  return made;
}

/** The map to mount a tree of the daemon's through; where that cannot be, its files are given to the mapped ids on disk, once. */
export async function mapFor(
  deps: FileDeps,
  run: Pick<RunConfig, 'name' | 'idmap'>,
  source: string,
  signal: AbortSignal,
): Promise<readonly IdMapEntry[] | undefined> {
  const owner = ownerOf(run, source);
  const wanted = hostRootIds(run.idmap).uid;
  if (owner === wanted) return undefined;
  if (owner === 0 && deps.rootfsIdmapped) return run.idmap;
  const from: readonly IdMapEntry[] = owner === 0 ? [] : await hostIdMap();
  deps.log.info('giving files to other ids', { container: run.name, path: source, from: owner, to: wanted });
  await shiftOwnership(source, from, run.idmap, signal);
  return undefined;
}

async function place(
  deps: FileDeps,
  run: RunConfig,
  mount: SecondMount & { readonly kind: MountRun['kind'] },
): Promise<string> {
  const { libc, namespaces } = deps;
  // Root of a privileged container can reach everything.
  if ((run.idmap.length === 0 && mount.nodes !== true) || libc === undefined) return mount.source;
  ownerOf(run, mount.source);
  unmount(libc, mount.target);
  if (mount.kind === 'dir') mkdirSync(mount.target, { recursive: true });
  else writeFileSync(mount.target, '');
  await mountAgain({ libc, namespaces }, mount);
  return mount.target;
}

function ownerOf(run: Pick<RunConfig, 'name'>, path: string): number {
  try {
    return statSync(path).uid;
  } catch (error) {
    throw new DriverError('Failed', `Cannot start container "${run.name}": ${path} is missing`, error);
  }
}

/** Idempotent. */
export function unmountFiles(deps: Pick<FileDeps, 'places' | 'libc'>, name: string): void {
  removeNodes(deps.places.nodesDir(name));
  const dir = deps.places.containerDir(name);
  if (deps.libc === undefined || !existsSync(dir)) return;
  for (const entry of readdirSync(dir)) {
    if (entry === 'rootfs' || entry === 'netns' || entry.startsWith('mount-')) unmount(deps.libc, `${dir}/${entry}`);
  }
}

/** Never recursive: below a mount that is still there lie the container's own files. */
export function removeContainerDir(deps: Pick<FileDeps, 'places' | 'libc'>, name: string): void {
  const dir = deps.places.containerDir(name);
  if (!existsSync(dir)) return;
  unmountFiles(deps, name);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) rmdirSync(`${dir}/${entry.name}`);
    else rmSync(`${dir}/${entry.name}`, { force: true });
  }
  rmdirSync(dir);
}

/** LXC gives up when the container's root cannot go through its path; nobody else gets more than that. */
export function makePassable(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  for (const path of [dirname(dir), dir]) {
    const mode = statSync(path).mode & 0o7777;
    if ((mode & 0o011) !== 0o011) chmodSync(path, mode | 0o011);
  }
}
