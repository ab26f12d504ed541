// Opens the LXC runtime on this host, or says why it cannot run here.
import { mkdirSync, realpathSync, existsSync } from 'node:fs';
import { LxcRuntime } from './runtime.ts';
import type { Log } from '../../../lib/log.ts';
import { startProgramsBy } from '../../../lib/start-program.ts';
import { driverErrors } from '../../driver-error.ts';
import { readCgroupTree, type CgroupTree, namesOfDirectories } from '../cgroup/cgroup.ts';
import type { HostFeature } from '../driver.ts';
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
import { NftTables } from '../../nft-tables.ts';
import { NicFilters } from '../nic/filters.ts';
import { UserNamespaces } from '../idmap/user-namespaces.ts';
import { readHostFacts } from '../cgroup/host-facts.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

export { lxcAvailable } from './host.ts';

export interface LxcDeps {
  /** The driver's private directory, on a file system that survives a restart of the daemon. */
  readonly dir: string;
  readonly log: Log;
  /** Default: tables that nobody looks after. */
  readonly tables?: NftTables;
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
export async function openLxcRuntime(deps: LxcDeps): Promise<LxcRuntime> {
  const available = await lxcAvailable();
  if (!available.ok) throw driverErrors.notSupported(`Cannot run LXC containers: ${available.reason}`);
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
  const { tables = new NftTables(deps.log) } = deps;
  return new LxcRuntime({
    paths,
    log: deps.log,
    tree,
    filters: new NicFilters(paths.tag, tables),
    tables,
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

interface CgroupFacts {
  readonly version: 1 | 2;
  /** By their names in that version. */
  readonly controllers: ReadonlySet<string>;
  /** Version 1: there is a weight for block devices. */
  readonly hasWeight: boolean;
  /** Version 1: memory and swap are accounted together. */
  readonly hasMemsw: boolean;
}

/**
 * Finds cgroup features that limits of containers need and this host lacks.
 * In v2 the root group lacks the controllers' files: only the controllers themselves can be checked.
 */
function missingInCgroups({ version, controllers, hasWeight, hasMemsw }: CgroupFacts): readonly HostFeature[] {
  const missing: HostFeature[] = (['cpu', 'cpuset', 'memory', 'pids'] as const).filter(
    (name) => !controllers.has(name),
  );
  if (version === 1 ? !hasWeight : !controllers.has('io')) missing.push('blkio.weight');
  if (version === 1 && controllers.has('memory') && !hasMemsw) missing.push('memory.swap');
  return missing;
}

function readCgroupFacts(tree: CgroupTree): CgroupFacts {
  return {
    version: tree.version,
    controllers: new Set(tree.version === 1 ? tree.roots.keys() : unifiedControllers()),
    hasWeight: hasWeight(tree.roots.get('blkio')),
    hasMemsw: readHostFacts(tree).hasMemsw,
  };
}

/** The root group has no weight. Without another group it is unknown, and assumed present. */
function hasWeight(root: string | undefined): boolean {
  if (root === undefined) return false;
  const [group] = namesOfDirectories(root);
  return (
    group === undefined || ['blkio.weight', 'blkio.bfq.weight'].some((file) => existsSync(`${root}/${group}/${file}`))
  );
}

const unifiedControllers = (): readonly string[] => textOrNothing('/sys/fs/cgroup/cgroup.controllers').split(/\s+/);
