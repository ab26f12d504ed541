// Device type proxy: forwards connections between host and container (addresses, rules). Drivers forward them.
import { parseIp } from '../text/ip.ts';
import type { Problem } from '../problem.ts';
import * as is from '../text/value-checks.ts';
import { isSet, live, problem, typeAccess, type DeviceConfig, type DeviceSchema } from './device-schema.ts';

export type ProxyAddress =
  | { readonly protocol: 'tcp' | 'udp'; readonly host: string; readonly ports: readonly number[] }
  /** `@name` is a socket without a file. */
  | { readonly protocol: 'unix'; readonly path: string };

const form = 'must read tcp:ADDRESS:PORTS, udp:ADDRESS:PORTS or unix:PATH, IPv6 addresses in [ ]';

/** The address, or the rule that the text breaks. Ports of ranges and lists are expanded, in order. */
export function parseProxyAddress(text: string): ProxyAddress | string {
  const read = readAddress(text);
  if (typeof read === 'string' || read.protocol === 'unix') return read;
  const { protocol, host, ranges } = read;
  return {
    protocol,
    host,
    ports: ranges.flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_none, index) => first + index),
    ),
  };
}

interface PortRange {
  readonly first: number;
  readonly last: number;
}

type ReadAddress =
  | { readonly protocol: 'tcp' | 'udp'; readonly host: string; readonly ranges: readonly PortRange[] }
  | { readonly protocol: 'unix'; readonly path: string };

/** Without expanding ports: checking many devices must not cost as much as forwarding all their ports. */
function readAddress(text: string): ReadAddress | string {
  const match = /^(tcp|udp|unix):(.+)$/.exec(text);
  const rest = match?.[2] ?? '';
  if (match === null) return form;
  if (match[1] === 'unix') return unixAddress(rest);
  const split = /^(\[[^\]]+\]|[^:[\]]+):([0-9,-]+)$/.exec(rest);
  const host = (split?.[1] ?? '').replace(/^\[(.*)\]$/, '$1');
  const ip = parseIp(host);
  if (split === null || ip === undefined || split[1]?.startsWith('[') !== (ip.family === 6)) return form;
  const ranges = portRanges(split[2] ?? '');
  if (ranges === undefined) return 'must have ports from 1 to 65535, as a list (80,443) or range (8000-8010)';
  return { protocol: match[1] === 'tcp' ? 'tcp' : 'udp', host, ranges };
}

function unixAddress(path: string): ReadAddress | string {
  // The kernel's limit for a socket path is 107 bytes.
  if (path.length > 107) return 'must have a socket path of at most 107 characters';
  if (/^@.+/.test(path) || is.absolutePath(path) === undefined) return { protocol: 'unix', path };
  return 'must have an absolute path without .., or @ and a name';
}

function portRanges(text: string): PortRange[] | undefined {
  const ranges: PortRange[] = [];
  let count = 0;
  for (const element of text.split(',')) {
    const match = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(element);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (match === null || first < 1 || last > 65535 || first > last || count > 65535) return undefined;
    count += last - first + 1;
    ranges.push({ first, last });
  }
  return ranges;
}

const address: is.Check = (value) => {
  const parsed = readAddress(value);
  return typeof parsed === 'string' ? parsed : undefined;
};

/** LXD 5.0 and others use other words for it. */
const insideWords = ['container', 'instance', 'guest'] as const;

export const listensInside = (device: DeviceConfig): boolean =>
  (insideWords as readonly string[]).includes(device['bind'] ?? '');

const socketFile = 'only when listening on a unix socket that has a file';

export const proxy: DeviceSchema = {
  doc: 'Forwards connections between the host and the container.',
  hotplug: true,
  hostAccess: typeAccess,
  home: () => 'alike',
  properties: {
    listen: live(address, 'Where to listen.', { required: true }),
    connect: live(address, 'Where to connect to for each connection.', { required: true }),
    bind: live(
      is.oneOf('host', ...insideWords),
      'The side that listens; instance and guest are other words for container.',
      { default: 'host' },
    ),
    uid: live(is.id, `Owner of the socket, ${socketFile}.`, { default: '0' }),
    gid: live(is.id, `Group of the socket, ${socketFile}.`, { default: '0' }),
    mode: live(is.fileMode, `File mode of the socket, ${socketFile}.`),
    'security.uid': live(is.id, 'User to run as once it listens.', { default: '0' }),
    'security.gid': live(is.id, 'Group to run as once it listens.', { default: '0' }),
    nat: live(is.bool, 'Forward in the kernel, keeping the address of the client.', { default: 'false' }),
    proxy_protocol: live(is.bool, 'Tell the address of the client by the PROXY protocol.', { default: 'false' }),
  },
  rules: proxyRules,
};

function proxyRules(device: DeviceConfig): Problem[] {
  const listen = readAddress(device['listen'] ?? '');
  const connect = readAddress(device['connect'] ?? '');
  if (typeof listen === 'string' || typeof connect === 'string') return [];
  return [
    ...portRules(listen, connect),
    ...socketRules(device, listen),
    ...natRules(device, listen, connect),
    ...(is.isTrue(device['proxy_protocol']) && connect.protocol !== 'tcp'
      ? [problem('proxy_protocol', 'needs connect to be tcp')]
      : []),
  ];
}

const endpointsOf = (side: ReadAddress): number =>
  side.protocol === 'unix' ? 1 : side.ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);

function portRules(listen: ReadAddress, connect: ReadAddress): Problem[] {
  const [from, to] = [endpointsOf(listen), endpointsOf(connect)];
  return to === 1 || to === from
    ? []
    : [problem('connect', `must have one port, or as many as listen: it has ${to}, listen has ${from}`)];
}

function socketRules(device: DeviceConfig, listen: ReadAddress): Problem[] {
  if (listen.protocol === 'unix' && !listen.path.startsWith('@')) return [];
  return ['uid', 'gid', 'mode']
    .filter((property) => isSet(device, property))
    .map((property) => problem(property, `is taken ${socketFile}`));
}

const isWildcard = (host: string): boolean => /^[0:.]+$/.test(host);
const isLoopback = (host: string): boolean => /^127\.|^[0:]*:0*1$/.test(host);

function natRules(device: DeviceConfig, listen: ReadAddress, connect: ReadAddress): Problem[] {
  if (!is.isTrue(device['nat'])) return [];
  const problems: Problem[] = [];
  if (listensInside(device)) problems.push(problem('nat', 'needs bind to be host'));
  if (listen.protocol === 'unix' || listen.protocol !== connect.protocol) {
    problems.push(problem('nat', 'needs listen and connect to be both tcp or both udp'));
  }
  if (listen.protocol !== 'unix' && isWildcard(listen.host))
    problems.push(
      problem('listen', `cannot be the wildcard address ${listen.host} with nat: name an address of the host`),
    );
  // The kernel would forward to no one, or to a service of the host itself.
  if (connect.protocol !== 'unix' && (isWildcard(connect.host) || isLoopback(connect.host)))
    problems.push(
      problem(
        'connect',
        `cannot be ${connect.host} with nat: name the address of the container, as ipv4.address of its nic`,
      ),
    );
  if (is.isTrue(device['proxy_protocol'])) problems.push(problem('nat', 'cannot be set together with proxy_protocol'));
  return problems;
}
