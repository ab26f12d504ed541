// A port that nothing listens at.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

export async function freeAddress(): Promise<string> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return `127.0.0.1:${port}`;
}
