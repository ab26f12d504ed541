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
import type { Log } from '../../lib/log.ts';
import { DriverError } from '../driver-error.ts';
import type { IdMapEntry, MountRun, RunConfig } from './driver.ts';
import { hostIdMap, hostRootIds } from './id-map.ts';
import type { LxcPlaces } from './lxc-places.ts';
import { mountMapped, unmount } from './mapped-mounts.ts';
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

/** The run config with every path replaced by the one where files belong to the container's ids. */
export async function prepareFiles(deps: FileDeps, run: RunConfig, signal: AbortSignal): Promise<RunConfig> {
  const { places } = deps;
  makeContainerDir(places, run);
  const rootfs = await own(deps, run, run.rootfs, places.mappedRootfs(run.name), 'dir', signal);
  const mounts: MountRun[] = [];
  for (const [index, mount] of run.mounts.entries()) {
    const mapped = mount.idmapped === true && (!mount.optional || existsSync(mount.source));
    const target = places.mappedMount(run.name, index);
    const source = mapped ? await own(deps, run, mount.source, target, mount.kind, signal) : mount.source;
    mounts.push({ ...mount, source });
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

async function own(
  deps: FileDeps,
  run: RunConfig,
  source: string,
  target: string,
  kind: MountRun['kind'],
  signal: AbortSignal,
): Promise<string> {
  const owner = ownerOf(run, source);
  const wanted = hostRootIds(run.idmap).uid;
  if (owner === wanted) return source;
  if (owner === 0 && deps.rootfsIdmapped && deps.libc !== undefined) {
    unmount(deps.libc, target);
    if (kind === 'dir') mkdirSync(target, { recursive: true });
    else writeFileSync(target, '');
    await mountMapped({ libc: deps.libc, namespaces: deps.namespaces }, source, target, run.idmap);
    return target;
  }
  const from: readonly IdMapEntry[] = owner === 0 ? [] : await hostIdMap();
  deps.log.info('giving files to other ids', { container: run.name, path: source, from: owner, to: wanted });
  await shiftOwnership(source, from, run.idmap, signal);
  return source;
}

function ownerOf(run: RunConfig, path: string): number {
  try {
    return statSync(path).uid;
  } catch (error) {
    throw new DriverError('Failed', `Cannot start container "${run.name}": ${path} is missing`, error);
  }
}

/** Idempotent. */
export function unmountFiles(deps: Pick<FileDeps, 'places' | 'libc'>, name: string): void {
  const dir = deps.places.containerDir(name);
  if (deps.libc === undefined || !existsSync(dir)) return;
  for (const entry of readdirSync(dir)) {
    if (entry === 'rootfs' || entry.startsWith('mount-')) unmount(deps.libc, `${dir}/${entry}`);
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
