// The forwards of a proxy device as data: paired addresses, defaults, and kernel rules. Pure.
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import { listensInside, parseProxyAddress, type ProxyAddress } from '../../../api/devices/index.ts';
import { parseIp } from '../../../api/text/ip.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { driverErrors } from '../../driver-error.ts';
import { removal, type Table } from '../../nft-tables.ts';

export type Endpoint =
  | { readonly kind: 'tcp' | 'udp'; readonly host: string; readonly port: number }
  /** `@name` has no file. */
  | { readonly kind: 'unix'; readonly path: string };

export interface Forward {
  readonly listen: Endpoint;
  readonly connect: Endpoint;
}

export interface ProxyRun {
  readonly device: string;
  /** The side that listens; connections go to the other one. */
  readonly bind: 'host' | 'container';
  readonly forwards: readonly Forward[];
  /** Done by the kernel, which keeps the clients' addresses. */
  readonly nat: boolean;
  readonly proxyProtocol: boolean;
  /** Owner and mode of a listening socket file; ids of its own side. */
  readonly socket: { readonly uid: number; readonly gid: number; readonly mode: number | undefined };
  /** The user that connects; ids of the side that accepts the connection. */
  readonly runAs: { readonly uid: number; readonly gid: number };
}

export function planProxy(device: string, properties: ConfigMap): ProxyRun {
  const address = (name: 'listen' | 'connect'): ProxyAddress => {
    const parsed = parseProxyAddress(properties[name] ?? '');
    if (typeof parsed !== 'string') return parsed;
    throw driverErrors.invalid(`proxy ${device}: ${name} ${parsed}`);
  };
  const listen = endpointsOf(address('listen'));
  const connect = endpointsOf(address('connect'));
  const number = (name: string): number => Number(set(properties[name]) ?? '0');
  const mode = set(properties['mode']);
  return {
    device,
    bind: listensInside(properties) ? 'container' : 'host',
    forwards: listen.map((from, index) => ({ listen: from, connect: connect[index] ?? first(connect) })),
    nat: isTrue(properties['nat']),
    proxyProtocol: isTrue(properties['proxy_protocol']),
    socket: { uid: number('uid'), gid: number('gid'), mode: mode === undefined ? undefined : Number.parseInt(mode, 8) },
    runAs: { uid: number('security.uid'), gid: number('security.gid') },
  };
}

const set = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

function first(endpoints: readonly Endpoint[]): Endpoint {
  const [one] = endpoints;
  if (one === undefined) throw driverErrors.invalid('a proxy needs an address to connect to');
  return one;
}

function endpointsOf(address: ProxyAddress): readonly Endpoint[] {
  if (address.protocol === 'unix') return [{ kind: 'unix', path: address.path }];
  return address.ports.map((port) => ({ kind: address.protocol, host: address.host, port }));
}

export function endpointText(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`;
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return `${endpoint.kind}:${host}:${endpoint.port}`;
}

/** First line of the PROXY protocol, version 1, which tells a server the address of its client. */
export function proxyHeader(
  from: { readonly address?: string | undefined; readonly port?: number | undefined },
  to: { readonly address?: string | undefined; readonly port?: number | undefined },
): string {
  const plain = (address: string | undefined): string => (address ?? '').replace(/^::ffff:(?=[0-9.]+$)/, '');
  const [source, target] = [plain(from.address), plain(to.address)];
  const family = parseIp(source)?.family;
  if (family === undefined || family !== parseIp(target)?.family) return 'PROXY UNKNOWN\r\n';
  return `PROXY TCP${family} ${source} ${target} ${from.port ?? 0} ${to.port ?? 0}\r\n`;
}

/** Rules that forward in the kernel, and replace an earlier table of that name. */
export function natRules(run: ProxyRun, table: Table): string {
  const to = run.forwards.flatMap(natRule);
  const back = run.forwards.flatMap(hairpinRule);
  const chain = (name: string, hook: string, priority: number, rules: readonly string[]): string =>
    `  chain ${name} {\n    type nat hook ${hook} priority ${priority}; policy accept;\n${rules.map((rule) => `    ${rule}\n`).join('')}  }\n`;
  const chains = [
    chain('proxy_pre', 'prerouting', -100, to),
    chain('proxy_out', 'output', -100, to),
    chain('proxy_post', 'postrouting', 90, back),
  ];
  return `${removal([table])}table ${table} {\n${chains.join('')}}\n`;
}

function natRule({ listen, connect }: Forward): readonly string[] {
  if (listen.kind === 'unix' || connect.kind === 'unix') return [];
  const ip = connect.host.includes(':') ? 'ip6' : 'ip';
  const isAny = /^(0\.0\.0\.0|[0:]+)$/.test(listen.host);
  const here = isAny
    ? `meta nfproto ${ip === 'ip' ? 'ipv4' : 'ipv6'} fib daddr type local`
    : `${ip} daddr ${listen.host}`;
  const target = ip === 'ip' ? connect.host : `[${connect.host}]`;
  return [`${here} ${listen.kind} dport ${listen.port} dnat ${ip} to ${target}:${connect.port}`];
}

/** A container that reaches itself through the host must see the host's address, or its answers would take another route. */
function hairpinRule({ connect }: Forward): readonly string[] {
  if (connect.kind === 'unix') return [];
  const ip = connect.host.includes(':') ? 'ip6' : 'ip';
  const { host, port } = connect;
  return [`${ip} saddr ${host} ${ip} daddr ${host} ${connect.kind} dport ${port} masquerade`];
}
