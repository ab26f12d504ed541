// Finds the address of a client behind proxies. A header is believed only where a trusted proxy wrote it. Pure.
import { isIP } from 'node:net';
import { familyOf, networkOf } from '../../config/network.ts';

/** `forwarded`: the value of X-Forwarded-For. `peer` wrote its last entry; the proxy in that entry wrote the one before. */
export function clientAddress(
  peer: string,
  forwarded: string | readonly string[] | undefined,
  trusted: readonly string[] = [],
): string {
  let client = plain(peer);
  if (trusted.length === 0 || isIP(client) === 0) return client;
  const entries = (Array.isArray(forwarded) ? forwarded.join(',') : String(forwarded ?? '')).split(',');
  for (const entry of entries.map((text) => plain(text.trim())).reverse()) {
    if (!isTrusted(client, trusted) || isIP(entry) === 0) return client;
    client = entry;
  }
  return client;
}

export function isTrusted(address: string, trusted: readonly string[] = []): boolean {
  const client = plain(address);
  return isIP(client) !== 0 && trusted.some((text) => networkOf(text)?.check(client, familyOf(client)) === true);
}

/** Unwraps IPv4 addresses in IPv6 form; removes the port or brackets that some proxies add. */
const plain = (address: string): string =>
  address
    .replace(/^\[([0-9a-fA-F:.]+)\](?::\d+)?$/, '$1')
    .replace(/^([0-9.]+):\d+$/, '$1')
    .replace(/^::ffff:(?=[0-9.]+$)/i, '');
