// Waits until a dnsmasq is idle: it works sequentially, so an answer to a query means that no work is half done. Changes nothing.
import { createSocket } from 'node:dgram';

/** The query for the name of the server (version.bind TXT CHAOS), which it answers itself with any config. */
const question = Buffer.concat([
  Buffer.from([0x67, 0x79, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
  Buffer.from('\x07version\x04bind\0', 'latin1'),
  Buffer.from([0, 16, 0, 3]),
]);

/** False if it does not answer in time or serves no DNS. */
export async function waitForIdleDnsmasq(address: string, limitMs: number): Promise<boolean> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  let again: NodeJS.Timeout | undefined;
  let timeout: NodeJS.Timeout | undefined;
  try {
    return await new Promise<boolean>((resolve) => {
      timeout = setTimeout(() => resolve(false), limitMs);
      // A connected socket gets an error at once if no process listens.
      socket.once('error', () => resolve(false));
      socket.once('message', () => resolve(true));
      socket.connect(53, address, () => {
        socket.send(question);
        again = setInterval(() => socket.send(question), 200);
      });
    });
  } finally {
    clearInterval(again);
    clearTimeout(timeout);
    socket.close();
  }
}
