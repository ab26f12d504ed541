// Finds cgroup features that limits of containers need and this host lacks.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { HostFeature } from '../driver.ts';
import type { CgroupTree } from './cgroup.ts';
import { readHostFacts } from './host-facts.ts';

export interface CgroupFacts {
  readonly version: 1 | 2;
  /** By their names in that version. */
  readonly controllers: ReadonlySet<string>;
  /** Version 1: there is a weight for block devices. */
  readonly hasWeight: boolean;
  /** Version 1: memory and swap are accounted together. */
  readonly hasMemsw: boolean;
}

/** In v2 the root group lacks the controllers' files: only the controllers themselves can be checked. Pure. */
export function missingInCgroups({ version, controllers, hasWeight, hasMemsw }: CgroupFacts): readonly HostFeature[] {
  const missing: HostFeature[] = (['cpu', 'cpuset', 'memory', 'pids'] as const).filter(
    (name) => !controllers.has(name),
  );
  if (version === 1 ? !hasWeight : !controllers.has('io')) missing.push('blkio.weight');
  if (version === 1 && controllers.has('memory') && !hasMemsw) missing.push('memory.swap');
  return missing;
}

export function readCgroupFacts(tree: CgroupTree): CgroupFacts {
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
  const group = subdirectories(root)[0];
  return group === undefined || ['blkio.weight', 'blkio.bfq.weight'].some((file) => existsSync(`${group}/${file}`));
}

function subdirectories(dir: string): readonly string[] {
  try {
    const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return below.map(({ name }) => `${dir}/${name}`);
  } catch {
    return [];
  }
}

function unifiedControllers(): readonly string[] {
  try {
    return readFileSync('/sys/fs/cgroup/cgroup.controllers', 'utf8').split(/\s+/);
  } catch {
    return [];
  }
}
