// Checks addresses of other servers: which are allowed, and where a redirect may lead. Pure.
import { driverErrors } from '../driver-error.ts';
import type { RemoteProtocol } from './driver.ts';

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
