// Finds, reads, writes and removes cgroups of both versions by path. Knows nothing of containers' configuration.
import { closeSync, constants, existsSync, openSync, readFileSync, readdirSync, rmdirSync, writeSync } from 'node:fs';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { driverErrors } from '../../driver-error.ts';
import type { CgroupValue } from './limits.ts';
import { attempt } from '../../../lib/shared/attempt.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

/** Where hierarchies are mounted, and the parent path of this host's containers in each. */
export interface CgroupTree {
  /** v1 if any resource controller is mounted as v1 (also on hybrid hosts). */
  readonly version: 1 | 2;
  /** Controller name (v1), `name=systemd`, or '' (v2) -> absolute directory to which our paths are relative. */
  readonly roots: ReadonlyMap<string, string>;
}

/** `selfMounts` is /proc/self/mountinfo, `initGroups` is /proc/1/cgroup. */
export function parseCgroupTree(selfMounts: string, initGroups: string): CgroupTree {
  const bases = parseGroups(initGroups);
  const roots = new Map<string, string>();
  for (const line of selfMounts.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const mountPoint = unescapeMount(left.split(' ')[4] ?? '');
    const [type, , options = ''] = right.split(' ');
    const keys =
      type === 'cgroup2'
        ? ['']
        : type === 'cgroup'
          ? options.split(',').filter((one) => !['rw', 'ro', 'xattr', 'noprefix', 'clone_children'].includes(one))
          : [];
    for (const key of keys) {
      if (roots.has(key) || !bases.has(key)) continue;
      // A service manager keeps itself in a leaf; containers are siblings of that leaf.
      const base = (bases.get(key) ?? '/').replace(/\/init\.scope$/, '');
      roots.set(key, `${mountPoint}${base === '/' ? '' : base}`);
    }
  }
  const version = [...roots.keys()].some((key) => key !== '' && !key.startsWith('name=')) ? 1 : 2;
  return { version, roots };
}

export function readCgroupTree(): CgroupTree {
  return parseCgroupTree(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/1/cgroup', 'utf8'));
}

/** /proc/PID/cgroup as controller -> path; joint v1 controllers get one entry each. */
export function parseGroups(text: string): ReadonlyMap<string, string> {
  const groups = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^[0-9]+:([^:]*):(.*)$/.exec(line);
    if (match === null) continue;
    for (const controller of (match[1] ?? '').split(',')) groups.set(controller, match[2] ?? '/');
  }
  return groups;
}

/** Directory of `group` (a path below the tree's roots) for a controller; undefined if the host lacks the controller. */
export function groupDir(tree: CgroupTree, controller: string, group: string): string | undefined {
  const root = tree.version === 2 ? tree.roots.get('') : tree.roots.get(controller);
  return root === undefined ? undefined : `${root}/${group}`;
}

export function allGroupDirs(tree: CgroupTree, group: string): readonly string[] {
  return [...new Set([...tree.roots.values()].map((root) => `${root}/${group}`))];
}

/** The file's text without the line end; undefined if absent. */
export function readGroupFile(tree: CgroupTree, group: string, file: string): string | undefined {
  const dir = groupDir(tree, controllerOf(file), group);
  if (dir === undefined) return undefined;
  return attempt(() => readFileSync(`${dir}/${file}`, 'utf8').trimEnd());
}

const controllerOf = (file: string): string => file.slice(0, file.indexOf('.'));

/** Without O_CREAT, which would fail with EACCES instead of ENOENT for a file that a kernel lacks. */
function writeExisting(path: string, value: string): void {
  const fd = openSync(path, constants.O_WRONLY);
  try {
    writeSync(fd, value);
  } finally {
    closeSync(fd);
  }
}

/** In cgroup v1 these apply only to a process's own group, not to child groups: a container's processes are in child groups. */
const isOwnOnly = (tree: CgroupTree, file: string): boolean =>
  tree.version === 1 && (file.startsWith('blkio.throttle.') || file === 'memory.swappiness');

/** None if the directory cannot be read. */
export const namesOfDirectories = (dir: string): readonly string[] =>
  attempt(() => readdirSync(dir, { withFileTypes: true }), [])
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

const subdirectories = (dir: string): readonly string[] =>
  namesOfDirectories(dir).flatMap((name) => [`${dir}/${name}`, ...subdirectories(`${dir}/${name}`)]);

/** Writes several values, also to child groups if they do not apply there otherwise. Some depend on each other (memory and memory+swap), so
 *  failed ones are retried at the end. */
export function writeGroupFiles(tree: CgroupTree, group: string, values: readonly CgroupValue[]): void {
  let left = values;
  let failure: unknown;
  for (let round = 0; round < 2 && left.length > 0; round++) {
    left = left.filter(({ file, value }) => {
      const dir = groupDir(tree, controllerOf(file), group);
      if (dir === undefined) return false;
      try {
        writeExisting(`${dir}/${file}`, value);
        if (isOwnOnly(tree, file)) for (const below of subdirectories(dir)) writeExisting(`${below}/${file}`, value);
        return false;
      } catch (error) {
        // The kernel lacks the file, or the group is gone.
        if (hasCode(error, 'ENOENT')) return false;
        failure = error;
        return true;
      }
    });
  }
  const [first] = left;
  if (first !== undefined) {
    throw driverErrors.failed(`Cannot set ${first.file} to "${first.value}"`, failure);
  }
}

export function groupPids(tree: CgroupTree, group: string): readonly number[] {
  const root = tree.version === 2 ? tree.roots.get('') : (tree.roots.get('freezer') ?? [...tree.roots.values()][0]);
  return root === undefined ? [] : pidsBelow(`${root}/${group}`);
}

const pidsBelow = (dir: string): readonly number[] =>
  [dir, ...subdirectories(dir)].flatMap((each) =>
    textOrNothing(`${each}/cgroup.procs`).split('\n').filter(Boolean).map(Number),
  );

/** The directory for finding and freezing a group's processes; undefined if the host has no such hierarchy. */
export function killDir(tree: CgroupTree, group: string): string | undefined {
  return groupDir(tree, 'freezer', group) ?? allGroupDirs(tree, group)[0];
}

/** Names of the groups directly below `group`, in any hierarchy. */
export const listGroups = (tree: CgroupTree, group: string): readonly string[] => [
  ...new Set(allGroupDirs(tree, group).flatMap(namesOfDirectories)),
];

/** Removes the group with all groups below it from all hierarchies; false if a process still runs in it. */
export function removeGroup(tree: CgroupTree, group: string): boolean {
  return allGroupDirs(tree, group)
    .map((dir) => removeDir(dir))
    .every(Boolean);
}

/** Removes the group if it contains no processes, directly or below; otherwise leaves it. */
export function removeEmptyGroup(tree: CgroupTree, group: string): void {
  if (listGroups(tree, group).some((name) => groupPids(tree, `${group}/${name}`).length > 0)) return;
  removeGroup(tree, group);
}

/** Removes a shared group once it contains no other group. */
export function removeSharedGroup(tree: CgroupTree, group: string): void {
  for (const dir of allGroupDirs(tree, group)) {
    try {
      rmdirSync(dir);
    } catch {
      // Another daemon has groups in it, or this hierarchy lacks it.
    }
  }
}

function removeDir(dir: string): boolean {
  // There are a dozen hierarchies, and mostly all lack it: an error for each costs more than the checks.
  if (!existsSync(dir)) return true;
  let entries;
  try {
    entries = readdirSync(dir, { withFileTypes: true });
  } catch {
    return true;
  }
  for (const entry of entries) if (entry.isDirectory()) removeDir(`${dir}/${entry.name}`);
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return hasCode(error, 'ENOENT');
  }
}

export function isFrozen(tree: CgroupTree, group: string): boolean {
  return tree.version === 1
    ? readGroupFile(tree, group, 'freezer.state') === 'FROZEN'
    : /^frozen 1$/m.test(readGroupFile(tree, group, 'cgroup.events') ?? '');
}

const hastyMs = 1;

/** Freezes or thaws and waits for the kernel's confirmation. LXC's own tools poll each second; this polls each millisecond. */
export async function setFrozen(tree: CgroupTree, group: string, frozen: boolean, timeoutMs: number): Promise<void> {
  const write = (): void => {
    if (tree.version === 1) {
      writeGroupFiles(tree, group, [{ file: 'freezer.state', value: frozen ? 'FROZEN' : 'THAWED' }]);
    } else {
      writeGroupFiles(tree, group, [{ file: 'cgroup.freeze', value: frozen ? '1' : '0' }]);
    }
  };
  // A removed group counts as thawed.
  const isThawed = (): boolean =>
    tree.version === 1
      ? (readGroupFile(tree, group, 'freezer.state') ?? 'THAWED') === 'THAWED'
      : !isFrozen(tree, group);
  const begun = performance.now();
  const deadline = begun + timeoutMs;
  write();
  while (frozen ? !isFrozen(tree, group) : !isThawed()) {
    if (performance.now() > deadline) {
      throw driverErrors.timeout(`The kernel did not ${frozen ? 'freeze' : 'thaw'} all processes in ${timeoutMs} ms`);
    }
    // Most freeze within a fraction of a timer's resolution.
    await (performance.now() < begun + hastyMs ? turn() : sleep(1));
    // v1: another write catches processes forked during the freeze.
    if (tree.version === 1 && frozen) write();
  }
}

const unescapeMount = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
