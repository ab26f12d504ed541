// Makes device nodes on the host and mounts them into containers (which may not make any), and lets containers use them.
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { exec } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import { type CgroupTree, groupDir } from '../cgroup/cgroup.ts';
import { deviceRule } from '../cgroup/limits.ts';
import type { IdMapEntry, MountRun, NodeRun } from '../driver.ts';
import { toHostId } from '../idmap/id-map.ts';
import { findProgram } from '../host/programs.ts';
import type { LxcPaths } from '../lxc-paths.ts';

export async function makeNode(dir: string, node: NodeRun, idmap: readonly IdMapEntry[]): Promise<string> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = fileOf(dir, node);
  rmSync(file, { force: true });
  const numbers = [node.major.toString(), node.minor.toString()];
  const kind = node.kind === 'char' ? 'c' : 'b';
  await exec([findProgram('mknod') ?? 'mknod', '-m', '0600', file, kind, ...numbers], { timeoutMs: 10_000 });
  const owner = (which: 'uid' | 'gid'): number => {
    const id = toHostId(idmap, which, node[which]);
    if (id !== undefined) return id;
    throw driverErrors.invalid(`Device ${node.device}: the container has no ${which} ${node[which]}`);
  };
  chownSync(file, owner('uid'), owner('gid'));
  chmodSync(file, node.mode);
  return file;
}

const fileOf = (dir: string, node: Pick<NodeRun, 'device' | 'target'>): string =>
  `${dir}/${Buffer.from(`${node.device} ${node.target}`).toString('hex').slice(0, 240)}`;

export const removeNode = (dir: string, node: NodeRun): void => rmSync(fileOf(dir, node), { force: true });

/** Idempotent. */
export function removeNodes(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}

export const nodeMount = (node: NodeRun, source: string): MountRun => ({
  device: node.device,
  source,
  target: node.target,
  kind: 'file',
  readonly: false,
  optional: false,
  recursive: false,
  nodes: true,
});

/** Allows a running container to use a node, or forbids it. */
export async function permitNode(
  tree: CgroupTree,
  paths: LxcPaths,
  name: string,
  node: NodeRun,
  allowed: boolean,
): Promise<void> {
  const file = allowed ? 'devices.allow' : 'devices.deny';
  if (tree.version === 2) {
    // In v2 the rules are a program that only LXC's monitor can replace.
    const tool = findProgram('lxc-cgroup') ?? 'lxc-cgroup';
    await exec([tool, '-P', paths.lxcPath, '-n', paths.key(name), file, deviceRule(node)], { timeoutMs: 10_000 });
    return;
  }
  const dir = groupDir(tree, 'devices', paths.group(name));
  if (dir === undefined) return;
  // A permission is not inherited by child groups; a denial is.
  for (const group of allowed ? groupsBelow(dir) : [dir]) writeFileSync(`${group}/${file}`, deviceRule(node));
}

function groupsBelow(dir: string): readonly string[] {
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [dir, ...below.flatMap((entry) => groupsBelow(`${dir}/${entry.name}`))];
}
