// limits.network.priority: sets the priority of a container's packets, by which queues of the host sort. One nft table per container.
import { createHash } from 'node:crypto';
import { type NftTables, removal, type Table } from '../../nft-tables.ts';
import type { NicRun } from '../driver.ts';
import { checkNicNames } from './commands.ts';

type Config = Readonly<Record<string, string>>;

/** 0: none, so its packets are sorted like the host's. */
export const networkPriority = (config: Config): number => Number(config['limits.network.priority'] || 0);

/** One for bridged frames and one for routed packets. `tag` distinguishes the daemons of one host. */
export function priorityTables(container: string, tag: string): readonly [Table, Table] {
  const name = `gantryprio_${tag}_${createHash('sha256').update(container).digest('hex').slice(0, 12)}`;
  return [`bridge ${name}`, `inet ${name}`];
}

/** Rules that replace the tables of the container. Bridged frames get the priority when they enter the bridge; the kernel's forwarding
 *  sets its own, so routed packets get it after that, identified by their hardware address. Pure. */
export function priorityRules(container: string, nics: readonly NicRun[], priority: number, tag: string): string {
  const set = `meta priority set 0:${priority.toString(16)} counter`;
  const cables = nics.filter((nic) => nic.kind === 'veth');
  for (const nic of cables) checkNicNames(nic);
  const tables = priorityTables(container, tag);
  const chain = (table: string, name: string, hook: string, rules: readonly string[]): string =>
    `table ${table} {\n  chain ${name} {\n    type filter hook ${hook}; policy accept;\n${rules.map((rule) => `    ${rule}\n`).join('')}  }\n}\n`;
  const bridged = cables.map((nic) => `iifname "${nic.hostName}" ${set}`);
  const routed = cables.flatMap((nic) => (nic.hwaddr === undefined ? [] : [`ether saddr ${nic.hwaddr} ${set}`]));
  return [
    removal(tables),
    chain(tables[0], 'bridged', 'prerouting priority -300', bridged),
    chain(tables[1], 'routed', 'postrouting priority -150', routed),
  ].join('');
}

/** Applies the priority of a running container to its current nics; 0 removes it. */
export async function setNetworkPriority(
  { tables, tag }: { readonly tables: NftTables; readonly tag: string },
  container: string,
  nics: readonly NicRun[],
  priority: number,
): Promise<void> {
  const its = priorityTables(container, tag);
  const what = `limits.network.priority ${priority} cannot be set by nft`;
  if (priority === 0 || !nics.some((nic) => nic.kind === 'veth')) await tables.remove(what, its);
  else await tables.set(what, its, priorityRules(container, nics, priority, tag));
}

/** After a crash: removes the tables of containers that no longer run. */
export const sweepPriorities = (tables: NftTables, tag: string): Promise<void> => tables.sweep(`gantryprio_${tag}_`);
