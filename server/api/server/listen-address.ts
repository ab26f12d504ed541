// Parses the addresses that daemons listen on (`core.https_address`); the listener resolves names and binds. Pure.
import { parseIp } from '../text/ip.ts';

export interface ListenAddress {
  /** The host; no brackets; empty means every address. */
  readonly host: string;
  readonly port: number;
}

export const defaultHttpsPort = 8443;
export const defaultMetricsPort = 9100;
export const defaultDebugPort = 8444;

/** `10.0.0.1`, `10.0.0.1:8443`, `[::1]:8443`, `[::]`, `::1`, `:8443`, `box.example:8443`. Undefined for other texts. */
export function parseListenAddress(text: string, defaultPort = defaultHttpsPort): ListenAddress | undefined {
  if (parseIp(text)?.family === 6) return { host: text, port: defaultPort };
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::([0-9]{1,5}))?$/.exec(text);
  if (match === null || text === '') return undefined;
  const host = match[1] ?? match[2] ?? '';
  const port = match[3] === undefined ? defaultPort : Number(match[3]);
  if (port < 1 || port > 65535) return undefined;
  if (match[1] !== undefined) return parseIp(host)?.family === 6 ? { host, port } : undefined;
  const isName = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(host) && !/^[0-9.]+$/.test(host);
  return host === '' || isName || parseIp(host)?.family === 4 ? { host, port } : undefined;
}
