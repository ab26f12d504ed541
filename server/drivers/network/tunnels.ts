// Which tunnel interfaces belong to a network, and the lines of `ip -batch` that make them those of its plan. Pure.
import { createHash } from 'node:crypto';
import type { NetworkPlan, TunnelPlan } from './config.ts';
import { tunnelCommands, type Link } from './ip-commands.ts';
import type { NetworkRecord } from './network-files.ts';

/** The alias of a tunnel. The hash shows whether it fits the config; the network cannot be read off the name of the link: `a-b-c` may be a
 *  tunnel of `a` or of `a-b`. */
const aliasOf = (mark: string, hash: string, network: string): string => `${oldAliasOf(mark, hash)}:${network}`;
/** Earlier releases did not name the network. */
const oldAliasOf = (mark: string, hash: string): string => `${mark}:tunnel:${hash}`;

/** The master of all ports in Open vSwitch's kernel datapath. */
const switchOfKernel = 'ovs-system';

/** Tunnel interfaces that we made for a network, also those no longer in its config. `links`: all of the host, see `withPorts`. */
export function ownTunnels(name: string, mark: string, links: readonly Link[]): Link[] {
  const bridges = links.filter((link) => link.alias === mark).map((link) => link.name);
  return links.filter((link) => networkOf(link, mark, [name, ...bridges]) === name);
}

function networkOf(link: Link, mark: string, bridges: readonly string[]): string | undefined {
  const start = oldAliasOf(mark, '');
  if (!link.alias.startsWith(start)) return undefined;
  const [, named] = link.alias.slice(start.length).split(':');
  if (named !== undefined) return named;
  if (bridges.includes(link.master)) return link.master;
  if (link.master === switchOfKernel) return undefined;
  const [longest] = bridges
    .filter((bridge) => link.name.startsWith(`${bridge}-`))
    .toSorted((a, b) => b.length - a.length);
  return longest;
}

/** `links` as in `ownTunnels`; `device`: interface of the default route, for multicast tunnels that name none. */
export function tunnelLines(plan: NetworkPlan, mark: string, links: readonly Link[], device: string): string[] {
  const wanted = plan.tunnels.map((tunnel) => ({ tunnel, hash: hashOf(tunnel, device, plan.mtu) }));
  const present = ownTunnels(plan.name, mark, links);
  const fits = (link: Link): boolean =>
    link.master === plan.name &&
    wanted.some(
      ({ tunnel, hash }) =>
        tunnel.link === link.name && [aliasOf(mark, hash, plan.name), oldAliasOf(mark, hash)].includes(link.alias),
    );
  const kept = new Map(present.filter(fits).map((link) => [link.name, link.alias]));
  return [
    ...present.filter((link) => !kept.has(link.name)).map((link) => `link del dev ${link.name}`),
    ...wanted.flatMap(({ tunnel, hash }) => {
      const alias = aliasOf(mark, hash, plan.name);
      const current = kept.get(tunnel.link);
      if (current === undefined) return tunnelCommands(plan, tunnel, device, alias);
      return current === alias ? [] : [`link set dev ${tunnel.link} alias ${alias}`];
    }),
  ];
}

const hashOf = (tunnel: TunnelPlan, device: string, mtu: number): string =>
  createHash('sha256')
    .update(JSON.stringify([tunnel, device, mtu]))
    .digest('hex')
    .slice(0, 12);

/** Whether links of tunnels may be on this host. Earlier releases recorded only the config. */
export const mayHaveTunnels = (record: NetworkRecord | undefined): boolean =>
  record?.tunnels ?? Object.keys(record?.config ?? {}).some((key) => key.startsWith('tunnel.'));
