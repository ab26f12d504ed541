// Reserves TCP ports on loopback below the kernel's ephemeral range, each for one test process at a time.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const lowest = 15_000;
/** The start of the kernel's ephemeral range. */
const limit = Number(/^\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))?.[0] ?? 32_768);
let next = lowest + Math.floor(Math.random() * (limit - lowest));

export const freePort = (): Promise<number> => freePorts(1);

/** Reserves `count` consecutive ports. Returns the first. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    if (next + count > limit) next = lowest;
    const ports = Array.from({ length: count }, (_, index) => next + index);
    next += count;
    const taken = await Promise.all(ports.map(take));
    if (taken.every(Boolean)) return ports[0] ?? lowest;
  }
}

const take = async (port: number): Promise<boolean> =>
  // The abstract socket is held until this process ends.
  (await canListen({ path: `\0gantry-test-port-${port}` }, true)) &&
  (await canListen({ port, host: '127.0.0.1' }, false));

function canListen(at: { readonly path: string } | { readonly port: number; readonly host: string }, isKept: boolean) {
  const server = createServer().unref();
  return new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(at, () => (isKept ? resolve(true) : server.close(() => resolve(true))));
  });
}
