// Checks addresses of other servers: which are allowed, where a redirect may lead, and which proxy to use. Pure.
import { BlockList, isIP } from 'node:net';
import { driverErrors } from '../driver-error.ts';
import type { ProxySettings, RemoteProtocol } from './driver.ts';

/** Why the address cannot be used; undefined if it can. */
export function addressRule(text: string, protocol: RemoteProtocol): string | undefined {
  if (text.length > 2048) return 'must have at most 2048 characters';
  if (!URL.canParse(text))
    return `must be an address such as https://images.example.net:8443, is ${JSON.stringify(text)}`;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return `must begin with https://, is ${JSON.stringify(text)}`;
  if (protocol === 'svc' && url.protocol !== 'https:')
    return 'must begin with https://: the protocol svc has no other form';
  if (url.username !== '' || url.password !== '') return 'must hold no user name or password';
  if (url.hash !== '') return 'must have no fragment (#)';
  if (protocol !== 'direct' && url.search !== '') return 'must have no query (?)';
  return undefined;
}

/** For messages and logs: the query may hold a secret. */
export const shown = (url: URL): string => `${url.origin}${url.pathname}`;

/** `path` below the server's own, whatever it contains: never another host. Throws Invalid. */
export function below(server: string, path: string): URL {
  const isOutside =
    path.split('/').some((part) => part === '..' || part === '.') || /[\\?#\0-\x20]|^[a-z]+:/i.test(path);
  if (path === '' || isOutside)
    throw driverErrors.invalid(`${server} names a file outside of it: ${JSON.stringify(path)}`);
  return new URL(`${server.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`);
}

/** Where a redirect leads. Throws Invalid if it must not be followed. */
export function redirectTarget(from: URL, location: string | undefined): URL {
  if (location === undefined || !URL.canParse(location, from.href)) {
    throw driverErrors.invalid(`${shown(from)} redirects to no address`);
  }
  const to = new URL(location, from);
  const isWorse = from.protocol === 'https:' && to.protocol !== 'https:';
  if (isWorse || (to.protocol !== 'https:' && to.protocol !== 'http:') || to.username !== '' || to.password !== '') {
    throw driverErrors.invalid(`${shown(from)} redirects to ${to.protocol}//, which is not followed`);
  }
  return to;
}

/** The proxy to use; undefined: none. Never used for this host itself. */
export function proxyFor(url: URL, settings: ProxySettings): string | undefined {
  const proxy = url.protocol === 'https:' ? settings.https : settings.http;
  if (proxy === '') return undefined;
  const host = url.hostname.replaceAll(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || loopback.check(host, familyOf(host))) return undefined;
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  const isIgnored = settings.ignoreHosts
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && fits(entry, host, port));
  return isIgnored ? undefined : proxy;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

const familyOf = (host: string): 'ipv4' | 'ipv6' => (isIP(host) === 6 ? 'ipv6' : 'ipv4');

function fits(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const network = /^(.+)\/(\d+)$/.exec(entry);
  if (network !== null) return isInNetwork(host, network[1] ?? '', Number(network[2]));
  const withPort = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry);
  if (withPort !== null && withPort[2] !== port) return false;
  const name = (withPort?.[1] ?? entry).replaceAll(/^\[|\]$/g, '').replace(/^\*?\./, '');
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function isInNetwork(host: string, network: string, bits: number): boolean {
  if (isIP(host) === 0 || isIP(network) !== isIP(host) || bits > (isIP(host) === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, familyOf(network));
  return list.check(host, familyOf(host));
}
