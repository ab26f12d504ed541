// A TCP port of the loopback interface without a listener at the moment.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The first of so many ports in a row without a listener at the moment. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = await freePort();
    const isFree = await Promise.all(Array.from({ length: count - 1 }, (_, index) => isFreePort(first + 1 + index)));
    if (isFree.every(Boolean)) return first;
  }
}

async function isFreePort(port: number): Promise<boolean> {
  if (port > 65_535) return false;
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
