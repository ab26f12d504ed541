// Joins the channels of two operations on different servers, frame by frame; it does not interpret frames.
import type { RawData, WebSocket } from 'ws';
import { ClientError } from '../client-error.ts';

/** Limit of buffered bytes for one side before the other one is paused. */
const maxWaitingBytes = 1024 * 1024;

interface End {
  readonly open: (name: string) => WebSocket;
  readonly names: readonly string[];
}

/** Resolves when all channels are joined, with a function that ends them at once. A channel that ends on one side ends on the other. */
export async function relaySockets(source: End, target: End, signal: AbortSignal | undefined): Promise<() => void> {
  const names = source.names.filter((name) => target.names.includes(name));
  const sockets: WebSocket[] = [];
  const stop = (): void => {
    for (const socket of sockets) socket.terminate();
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (const name of names) {
      const [from, to] = [source.open(name), target.open(name)];
      sockets.push(from, to);
      // The first side may send before the other one is open.
      const joined = join(from, to);
      await Promise.all([opened(from, name), opened(to, name)]);
      joined();
    }
  } catch (error) {
    stop();
    throw signal?.aborted === true ? signal.reason : error;
  }
  return () => {
    signal?.removeEventListener('abort', stop);
    // The last data is still sent.
    for (const socket of sockets) if (socket.readyState === socket.OPEN) socket.close();
  };
}

/** Both directions. Returns a function that releases the frames that arrived before the other side was open. */
function join(a: WebSocket, b: WebSocket): () => void {
  const releases = [carry(a, b), carry(b, a)];
  return () => {
    for (const release of releases) release();
  };
}

function carry(from: WebSocket, to: WebSocket): () => void {
  const early: (() => void)[] = [];
  let isOpen = false;
  const send = (data: RawData, binary: boolean): void => {
    to.send(data, { binary, compress: false }, () => {
      if (from.isPaused && to.bufferedAmount <= maxWaitingBytes) from.resume();
    });
    if (to.bufferedAmount > maxWaitingBytes) from.pause();
  };
  from.on('message', (data: RawData, binary: boolean) => {
    if (isOpen) send(data, binary);
    else {
      early.push(() => send(data, binary));
      from.pause();
    }
  });
  from.once('close', () => {
    if (to.readyState === to.OPEN) to.close();
    else to.terminate();
  });
  return () => {
    isOpen = true;
    for (const frame of early.splice(0)) frame();
    if (from.isPaused && to.bufferedAmount <= maxWaitingBytes) from.resume();
  };
}

function opened(socket: WebSocket, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause?: Error): void =>
      reject(
        new ClientError(
          'unreachable',
          `cannot open the channel ${name} of the migration: ${cause?.message ?? 'closed'}`,
          { cause },
        ),
      );
    socket.once('open', resolve);
    socket.on('error', fail);
    socket.once('close', () => fail());
  });
}
