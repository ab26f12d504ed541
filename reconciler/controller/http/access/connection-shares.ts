// Shares the connections of the listener among addresses: one address, or IPv6 network, cannot take them all.
import type { Server, Socket } from 'node:net';
import { networkOf } from '../../../../server/lib/shared/attempts.ts';
import type { HttpLog } from '../app.ts';

const quietMs = 60_000;

interface Shares {
  readonly perAddress: number;
  /** Addresses without a limit, such as proxies, which connect for many. */
  readonly isExempt: (address: string) => boolean;
  readonly log: HttpLog;
}

export function shareConnections(server: Server, { perAddress, isExempt, log }: Shares): void {
  const counts = new Map<string, number>();
  let quietUntil = 0;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isExempt(address)) return;
    const network = networkOf(address);
    const count = counts.get(network) ?? 0;
    if (count >= perAddress) {
      socket.destroy();
      if (Date.now() < quietUntil) return;
      quietUntil = Date.now() + quietMs;
      log.warn(
        `New connections of ${address} are refused: it has ${count}; name it in trustedProxies if it is a proxy`,
      );
      return;
    }
    counts.set(network, count + 1);
    socket.once('close', () => {
      const left = (counts.get(network) ?? 1) - 1;
      if (left > 0) counts.set(network, left);
      else counts.delete(network);
    });
  });
}
