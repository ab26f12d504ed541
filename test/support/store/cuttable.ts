// A TCP relay in front of a server that can be cut without a word, as by a pulled cable: connections stay open and carry nothing.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Relay {
  readonly address: string;
  /** `answers`: holds back what the server sends. `both`: holds back everything. */
  cut(which: 'answers' | 'both'): void;
  /** Delivers everything that was held back. */
  mend(): void;
  close(): void;
}

export async function openRelay(target: string): Promise<Relay> {
  const [host = '', port = '0'] = target.split(':');
  const held: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const isCut = { requests: false, answers: false };
  const forward = (from: Socket, to: Socket, direction: keyof typeof isCut): void => {
    from.on('data', (chunk: Buffer) => {
      const send = (): void => void (to.destroyed || to.write(chunk));
      if (isCut[direction]) held.push(send);
      else send();
    });
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      if (isCut[direction]) held.push(() => to.destroy());
      else to.destroy();
    });
    sockets.add(from);
  };
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    forward(client, upstream, 'requests');
    forward(upstream, client, 'answers');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut(which) {
      isCut.answers = true;
      isCut.requests = which === 'both';
    },
    mend() {
      isCut.answers = isCut.requests = false;
      for (const release of held.splice(0)) release();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
