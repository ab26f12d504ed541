// Tells whether a host is this machine only. Pure.
import { isIPv4 } from 'node:net';

/** `127.example.org` is a name like any other, and may lead anywhere. `host`: without the brackets of an IPv6 address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
