// Opens the LXC runtime on this host, or says why it cannot run here.
import { LxcRuntime } from './runtime.ts';
import { mkdirSync, realpathSync } from 'node:fs';
import { type Log } from '../../../lib/log.ts';
import { startProgramsBy } from '../../../lib/start-program.ts';
import { DriverError } from '../../driver-error.ts';
import { readCgroupTree } from '../cgroup/cgroup.ts';
import { missingInCgroups, readCgroupFacts } from '../cgroup/missing.ts';
import type { RuntimeDriver } from '../driver.ts';
import type { ModulePaths } from '../host/kernel-modules.ts';
import { makePassable } from '../mounts/container-files.ts';
import { LxcPaths } from '../lxc-paths.ts';
import type { CheckpointPrograms } from '../checkpoint/criu.ts';
import { hideMapPrograms } from './start-env.ts';
import { lxcAvailable, lxcVersion } from './host.ts';
import { findApparmor } from '../apparmor/load.ts';
import { canMountMapped } from '../mounts/mapped-mounts.ts';
import { quickStart } from '../host/quick-start.ts';
import { loadLibc } from '../host/syscalls.ts';
import { NicFilters } from '../nic/filters.ts';
import { UserNamespaces } from '../idmap/user-namespaces.ts';

export { lxcAvailable } from './host.ts';

export interface LxcDeps {
  /** The driver's private directory, on a file system that survives a restart of the daemon. */
  readonly dir: string;
  readonly log: Log;
  /** A directory on the file system for root file systems, tested for idmapped mounts. Default `dir`. */
  readonly probeDir?: string;
  /** Overrides this host's kernel modules. */
  readonly modules?: ModulePaths;
  /** False: pretends that the kernel has no idmapped mounts. Default: what this one can. */
  readonly mappedMounts?: boolean;
  /** Overrides the programs in the host's usual places. */
  readonly programs?: CheckpointPrograms;
}

/** Throws DriverError NotSupported with the reason if this host cannot run it. */
export async function openLxcRuntime(deps: LxcDeps): Promise<RuntimeDriver> {
  const available = await lxcAvailable();
  if (!available.ok) throw new DriverError('NotSupported', `Cannot run LXC containers: ${available.reason}`);
  mkdirSync(deps.dir, { recursive: true, mode: 0o700 });
  const paths = new LxcPaths(realpathSync(deps.dir));
  makePassable(paths.lxcPath);
  hideMapPrograms(paths.hidingDir);
  const libc = await loadLibc();
  if (libc === undefined)
    deps.log.warn('koffi cannot be loaded: no id-mapped mounts, and guest sockets refuse every request');
  else startProgramsBy(quickStart(libc));
  const namespaces = new UserNamespaces();
  const tree = readCgroupTree();
  return new LxcRuntime({
    paths,
    log: deps.log,
    tree,
    filters: new NicFilters(paths.tag),
    missing: [...missingInCgroups(readCgroupFacts(tree)), ...missingOfApparmor[findApparmor()]],
    version: await lxcVersion(),
    rootfsIdmapped:
      deps.mappedMounts !== false &&
      libc !== undefined &&
      (await canMountMapped({ libc, namespaces }, deps.probeDir ?? deps.dir)),
    libc,
    namespaces,
    modules: deps.modules,
    programs: deps.programs,
  });
}

const missingOfApparmor = { full: [], absent: ['apparmor'], withoutParser: ['apparmorParser'] } as const;
