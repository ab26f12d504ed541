// Decides whether a connection goes through a proxy, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. Pure.
import { BlockList, isIP } from 'node:net';
import { bareHost } from './host-port.ts';
import { isLoopback } from './loopback.ts';

/** Proxies for outgoing connections; empty: none. */
export interface ProxySettings {
  readonly http: string;
  readonly https: string;
  /** Comma separated hosts, domains (`.example.net`), networks (10.0.0.0/8), or `*`. */
  readonly ignoreHosts: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Capitals go before small letters; an empty variable counts as absent. */
export const proxiesIn = (env: Env): ProxySettings => ({
  http: withScheme(proxyVariable(env, 'HTTP_PROXY')),
  https: withScheme(proxyVariable(env, 'HTTPS_PROXY')),
  ignoreHosts: proxyVariable(env, 'NO_PROXY'),
});

/** A variable such as NO_PROXY. */
export const proxyVariable = (env: Env, name: string): string => env[name] || env[name.toLowerCase()] || '';

/** `proxy:3128` means `http://proxy:3128`. */
const withScheme = (proxy: string): string =>
  proxy === '' || /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;

/** The proxy to use; undefined: none. Never used for this host itself. */
export function proxyFor(url: URL, settings: ProxySettings): string | undefined {
  const proxy = url.protocol === 'https:' ? settings.https : settings.http;
  if (proxy === '') return undefined;
  const host = bareHost(url.hostname).toLowerCase();
  if (isLoopback(host)) return undefined;
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  const isIgnored = settings.ignoreHosts
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && fits(entry, host, port));
  return isIgnored ? undefined : proxy;
}

const familyOf = (host: string): 'ipv4' | 'ipv6' => (isIP(host) === 6 ? 'ipv6' : 'ipv4');

function fits(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const network = /^(.+)\/(\d+)$/.exec(entry);
  if (network !== null) return isInNetwork(host, network[1] ?? '', Number(network[2]));
  const withPort = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry);
  if (withPort !== null && withPort[2] !== port) return false;
  const name = bareHost(withPort?.[1] ?? entry).replace(/^\*?\./, '');
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function isInNetwork(host: string, network: string, bits: number): boolean {
  if (isIP(host) === 0 || isIP(network) !== isIP(host) || bits > (isIP(host) === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, familyOf(network));
  return list.check(host, familyOf(host));
}
