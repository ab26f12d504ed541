// Checks the address at which a host says the other members reach it. Pure.
import { isIP } from 'node:net';
import type { Problem } from '../../api/problem.ts';

const defaultPort = '8443';

/** HOST:PORT, always with a port; a problem if others could not connect to it. */
export function memberAddress(
  path: string,
  text: string,
): { readonly address: string } | { readonly problem: Problem } {
  const match = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? '';
  const port = match?.[3] ?? defaultPort;
  if (match === null || Number(port) > 65_535 || Number(port) === 0)
    return { problem: { path, message: `must be HOST:PORT, is ${JSON.stringify(text)}` } };
  if (host === '' || host === '0.0.0.0' || host === '::')
    return {
      problem: {
        path,
        message: `must name the address at which the other members reach this host, is ${JSON.stringify(text)}`,
      },
    };
  return { address: `${isIP(host) === 6 ? `[${host}]` : host}:${port}` };
}
