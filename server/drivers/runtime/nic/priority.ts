// limits.network.priority: sets the priority of a container's packets, by which queues of the host sort. One nft table per container.
import { createHash } from 'node:crypto';
import { exec } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import type { NicRun } from '../driver.ts';
import { findProgram } from '../host/programs.ts';
import { checkNicNames } from './commands.ts';

type Config = Readonly<Record<string, string>>;

const limit = { timeoutMs: 15_000 };
const families = ['bridge', 'inet'] as const;

/** 0: none, so its packets are sorted like the host's. */
export const networkPriority = (config: Config): number => Number(config['limits.network.priority'] || 0);

/** `tag` distinguishes the daemons of one host. */
export const priorityTable = (container: string, tag: string): string =>
  `gantryprio_${tag}_${createHash('sha256').update(container).digest('hex').slice(0, 12)}`;

/** Text for `nft -f -`, replacing an earlier table. Bridged frames get the priority when they enter the bridge; the kernel's forwarding
 *  sets its own, so routed packets get it after that, identified by their hardware address. Pure. */
export function priorityRules(container: string, nics: readonly NicRun[], priority: number, tag: string): string {
  const table = priorityTable(container, tag);
  const set = `meta priority set 0:${priority.toString(16)} counter`;
  const cables = nics.filter((nic) => nic.kind === 'veth');
  for (const nic of cables) checkNicNames(nic);
  const chain = (family: string, name: string, hook: string, rules: readonly string[]): string =>
    `table ${family} ${table} {\n  chain ${name} {\n    type filter hook ${hook}; policy accept;\n${rules.map((rule) => `    ${rule}\n`).join('')}  }\n}\n`;
  const bridged = cables.map((nic) => `iifname "${nic.hostName}" ${set}`);
  const routed = cables.flatMap((nic) => (nic.hwaddr === undefined ? [] : [`ether saddr ${nic.hwaddr} ${set}`]));
  return [
    noPriorityRules(container, tag),
    chain('bridge', 'bridged', 'prerouting priority -300', bridged),
    chain('inet', 'routed', 'postrouting priority -150', routed),
  ].join('');
}

/** Adding first makes the deletion valid if there was none. Pure. */
export function noPriorityRules(container: string, tag: string): string {
  const table = priorityTable(container, tag);
  return families.map((family) => `add table ${family} ${table}\ndelete table ${family} ${table}\n`).join('');
}

/** Applies the priority of a running container to its current nics; 0 removes it. */
export async function setNetworkPriority(
  container: string,
  nics: readonly NicRun[],
  priority: number,
  tag: string,
): Promise<void> {
  const isNone = priority === 0 || !nics.some((nic) => nic.kind === 'veth');
  const input = isNone ? noPriorityRules(container, tag) : priorityRules(container, nics, priority, tag);
  try {
    await exec([findProgram('nft') ?? 'nft', '-f', '-'], { ...limit, input });
  } catch (error) {
    throw driverErrors.failed(`limits.network.priority ${priority} cannot be set by nft`, error);
  }
}

/** After a crash: removes the tables of this daemon's containers that no longer run. */
export async function sweepPriorities(running: readonly string[], tag: string): Promise<void> {
  const nft = findProgram('nft');
  if (nft === undefined) return;
  const { stdout } = await exec([nft, 'list', 'tables'], { ...limit, okCodes: [0, 1] });
  const kept = new Set(running.map((name) => priorityTable(name, tag)));
  for (const [, family = '', table = ''] of stdout.matchAll(/^table (\S+) (\S+)$/gm)) {
    if (!table.startsWith(`gantryprio_${tag}_`) || kept.has(table)) continue;
    await exec([nft, 'delete', 'table', family, table], limit);
  }
}
