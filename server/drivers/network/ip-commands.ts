// Writes the lines of `ip -batch` and parses the output of `ip -j`. Pure.
import { formatCidr, parseIp } from '../../api/text/ip.ts';
import { type NetworkPlan, type TunnelPlan, familyOf } from './config.ts';
import type { HostInterface, NetworkState } from './driver.ts';

export interface LinkAddress {
  readonly family: 'inet' | 'inet6';
  readonly address: string;
  readonly prefix: number;
  readonly scope: string;
}

export interface Link {
  readonly name: string;
  readonly mtu: number;
  readonly hwaddr: string;
  readonly flags: readonly string[];
  /** `ether`, `loopback`, `none` ... */
  readonly linkType: string;
  /** `bridge`, `vxlan`, `veth` ...; empty for a device of the machine. */
  readonly kind: string;
  readonly alias: string;
  readonly master: string;
  /** A bridge that learns no address from frames to the link itself (01:80:c2:00:00:0x), which pass no filter. */
  readonly ignoresLinkLocal: boolean;
  readonly addresses: readonly LinkAddress[];
  readonly vlan?: NonNullable<NetworkState['vlan']>;
  readonly counters: NetworkState['counters'];
}

type Json = Readonly<Record<string, unknown>>;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(object) : []);

/** What `ip -j -d [-s] addr show` prints. */
export function parseLinks(output: string): Link[] {
  if (output.trim() === '') return [];
  return list(JSON.parse(output) as unknown)
    .filter((link) => text(link['ifname']) !== '')
    .map((link) => {
      const flags = link['flags'];
      const received = object(object(link['stats64'])['rx']);
      const sent = object(object(link['stats64'])['tx']);
      const info = object(link['linkinfo']);
      const [kind, data] = [text(info['info_kind']), object(info['info_data'])];
      return {
        name: text(link['ifname']),
        mtu: count(link['mtu']),
        hwaddr: text(link['address']),
        flags: Array.isArray(flags) ? flags.map(text) : [],
        linkType: text(link['link_type']),
        kind,
        alias: text(link['ifalias']),
        master: text(link['master']),
        ignoresLinkLocal: data['no_linklocal_learn'] === 1,
        addresses: list(link['addr_info']).flatMap(parseAddress),
        ...(kind === 'vlan' ? { vlan: { lower_device: text(link['link']), vid: count(data['id']) } } : {}),
        counters: {
          bytes_received: count(received['bytes']),
          bytes_sent: count(sent['bytes']),
          packets_received: count(received['packets']),
          packets_sent: count(sent['packets']),
        },
      };
    });
}

function parseAddress(entry: Json): LinkAddress[] {
  const family = text(entry['family']);
  if (family !== 'inet' && family !== 'inet6') return [];
  return [{ family, address: text(entry['local']), prefix: count(entry['prefixlen']), scope: text(entry['scope']) }];
}

export interface Route {
  readonly dst: string;
  readonly dev: string;
}

/** Destinations of `ip -j route show`; `default` stays as it is. */
export function parseRoutes(output: string): Route[] {
  if (output.trim() === '') return [];
  return list(JSON.parse(output) as unknown).map((route) => ({ dst: text(route['dst']), dev: text(route['dev']) }));
}

export function linkState(link: Link): NetworkState {
  const scopes = { global: 'global', link: 'link' } as const;
  return {
    addresses: link.addresses.map((entry) => ({
      family: entry.family,
      address: entry.address,
      netmask: String(entry.prefix),
      scope: scopes[entry.scope as keyof typeof scopes] ?? 'local',
    })),
    counters: link.counters,
    hwaddr: link.linkType === 'loopback' ? '' : link.hwaddr,
    mtu: link.mtu,
    state: link.flags.includes('UP') ? 'up' : 'down',
    type: linkStateType(link.flags),
  };
}

function linkStateType(flags: readonly string[]): NetworkState['type'] {
  if (flags.includes('LOOPBACK')) return 'loopback';
  if (flags.includes('POINTOPOINT')) return 'point-to-point';
  return flags.includes('BROADCAST') ? 'broadcast' : 'unknown';
}

/** Undefined for the host ends of containers' nics, which are not interfaces of the host's own. `mark`: the alias of our bridges. */
export function hostInterface(link: Link, mark = ''): HostInterface | undefined {
  if (link.kind === 'veth') return undefined;
  const kinds: Readonly<Record<string, HostInterface['type']>> = {
    bridge: 'bridge',
    openvswitch: 'bridge',
    vlan: 'vlan',
    bond: 'bond',
  };
  const plain = link.linkType === 'loopback' ? 'loopback' : link.linkType === 'ether' ? 'physical' : 'unknown';
  const addresses = link.addresses.filter(({ scope }) => scope === 'global').map(cidrText);
  const type = link.kind === '' ? plain : (kinds[link.kind] ?? 'unknown');
  return { name: link.name, type: mark !== '' && link.alias === mark ? 'bridge' : type, addresses };
}

/** The ports of a bridge of Open vSwitch, which the kernel shows as members of something else, or of nothing. */
export const withPorts = (links: readonly Link[], bridge: string, ports: readonly string[]): Link[] =>
  links.map((link) => (ports.includes(link.name) ? { ...link, master: bridge } : link));

/** Before the sysctls: the bridge itself. `mark` is the alias by which we know it again. */
export function bridgeCommands(plan: NetworkPlan, hwaddr: string, current: Link | undefined, mark: string): string[] {
  const dev = `dev ${plan.name}`;
  if (plan.driver === 'openvswitch') return current?.alias === mark ? [] : [`link set ${dev} alias ${mark}`];
  if (current === undefined) {
    return [
      `link add name ${plan.name} address ${hwaddr} type bridge no_linklocal_learn 1`,
      `link set ${dev} alias ${mark}`,
      `link set ${dev} mtu ${plan.mtu}`,
    ];
  }
  const out: string[] = [];
  if (current.alias !== mark) out.push(`link set ${dev} alias ${mark}`);
  if (current.hwaddr !== hwaddr) out.push(`link set ${dev} address ${hwaddr}`);
  if (current.mtu !== plan.mtu) out.push(`link set ${dev} mtu ${plan.mtu}`);
  if (!current.ignoresLinkLocal) out.push(`link set ${dev} type bridge no_linklocal_learn 1`);
  return out;
}

/** After the sysctls: addresses and up. Old addresses go first: removing one takes its subnet's later ones along. */
export function addressCommands(plan: NetworkPlan, current: Link | undefined): string[] {
  const dev = `dev ${plan.name}`;
  const hasIpv6 = familyOf(plan, 6) !== undefined;
  const wanted = new Map(plan.families.map((family) => [formatCidr(family.address), family.family]));
  const present = (current?.addresses ?? []).filter((entry) => entry.scope === 'global').map(cidrText);
  const stale = present.filter((cidr) => !wanted.has(cidr) && (hasIpv6 || !cidr.includes(':')));
  const missing = [...wanted].filter(([cidr]) => !present.includes(cidr));
  return [
    ...stale.map((cidr) => `addr del ${cidr} ${dev}`),
    ...missing.map(([cidr, family]) => `addr replace ${cidr} ${dev}${family === 6 ? ' nodad' : ''}`),
    ...(current?.flags.includes('UP') === true ? [] : [`link set ${dev} up`]),
  ];
}

function cidrText(entry: LinkAddress): string {
  const ip = parseIp(entry.address);
  return ip === undefined ? `${entry.address}/${entry.prefix}` : formatCidr({ ip, prefix: entry.prefix });
}

/** `present`: destinations of the bridge's `proto static` routes. */
export function routeCommands(plan: NetworkPlan, present: readonly string[]): string[] {
  const wanted = [...new Set(plan.routes.map(routeText))];
  return [
    ...present.filter((dst) => !wanted.includes(dst)).map((dst) => `route del ${dst} dev ${plan.name} proto static`),
    ...wanted.filter((dst) => !present.includes(dst)).map((dst) => `route add ${dst} dev ${plan.name} proto static`),
  ];
}

/** As `ip -j route` prints it: host bits cleared, the prefix of a single address left out. */
function routeText(cidr: Parameters<typeof formatCidr>[0]): string {
  const bits = cidr.ip.family === 4 ? 32 : 128;
  const shift = BigInt(bits - cidr.prefix);
  const base = formatCidr({
    ip: { family: cidr.ip.family, value: (cidr.ip.value >> shift) << shift },
    prefix: cidr.prefix,
  });
  return cidr.prefix === bits ? base.slice(0, base.indexOf('/')) : base;
}

/** `defaultDevice`: interface of the default route, for multicast tunnels that name none. */
export function tunnelCommands(plan: NetworkPlan, tunnel: TunnelPlan, defaultDevice: string, mark: string): string[] {
  const dev = `dev ${tunnel.link}`;
  return [
    `link add name ${tunnel.link} mtu ${plan.mtu} type ${tunnelType(tunnel, defaultDevice)}`,
    `link set ${dev} alias ${mark}`,
    ...joinLines(plan, tunnel.link),
    `link set ${dev} up`,
  ];
}

/** Open vSwitch is asked by ovs-bridge.ts. */
const joinLines = (plan: NetworkPlan, port: string): string[] =>
  plan.driver === 'openvswitch' ? [] : [`link set dev ${port} master ${plan.name}`];

function tunnelType(tunnel: TunnelPlan, defaultDevice: string): string {
  if (tunnel.protocol === 'gre') {
    const kind = tunnel.remote.includes(':') ? 'ip6gretap' : 'gretap';
    return `${kind} local ${tunnel.local} remote ${tunnel.remote}`;
  }
  const where =
    tunnel.remote === ''
      ? `group ${tunnel.group} dev ${tunnel.interface === '' ? defaultDevice : tunnel.interface} ttl ${tunnel.ttl}`
      : `local ${tunnel.local} remote ${tunnel.remote}`;
  return `vxlan id ${tunnel.id} dstport ${tunnel.port} ${where}`;
}

/** Members of the bridge by its config: `last` are those that an earlier config named. */
export function memberCommands(plan: NetworkPlan, last: readonly string[], links: readonly Link[]): string[] {
  const masterOf = (name: string): string => links.find((link) => link.name === name)?.master ?? '';
  const gone = last.filter((name) => !plan.external.includes(name) && masterOf(name) === plan.name);
  const added = plan.external.filter((name) => masterOf(name) !== plan.name);
  return [
    ...(plan.driver === 'openvswitch' ? [] : gone.map((name) => `link set dev ${name} nomaster`)),
    ...added.flatMap((name) => [...joinLines(plan, name), `link set dev ${name} up`]),
  ];
}
