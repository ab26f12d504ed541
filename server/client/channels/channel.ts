// One channel of an operation from the client's side: a websocket that carries a stream each way, with its end marks.
import type { Readable, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import { ClientError } from '../client-error.ts';
import { readReply } from '../transport/reply.ts';

const barrier = Buffer.alloc(0);
/** The end of input of a terminal in its usual mode (VEOF). */
const endOfTransmission = Buffer.from([4]);
/** Limit of buffered bytes in this process before the source is paused. */
const maxWaitingBytes = 1024 * 1024;

export class ClientChannel {
  /** Number of bytes passed to `writeTo`. */
  receivedBytes = 0;
  readonly #socket: WebSocket;
  /** Frames that arrived before a reader; the socket is paused until then. */
  #early: { readonly bytes: Buffer; readonly isBinary: boolean }[] = [];
  #take: ((bytes: Buffer, isBinary: boolean) => void) | undefined;
  readonly #gone: Promise<void>;
  #stopReading: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (bytes: Buffer, isBinary) => {
      if (this.#take === undefined) this.#early.push({ bytes, isBinary });
      else this.#take(bytes, isBinary);
    });
    this.#gone = new Promise((resolve) => {
      socket.once('close', () => resolve());
    });
    void this.#gone.finally(() => this.#stopReading());
  }

  static open(socket: WebSocket, what: string, signal: AbortSignal | undefined): Promise<ClientChannel> {
    return new Promise((resolve, reject) => {
      const channel = new ClientChannel(socket);
      const aborted = (): void => {
        socket.terminate();
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', aborted, { once: true });
      socket.once('open', () => {
        signal?.removeEventListener('abort', aborted);
        resolve(channel);
      });
      socket.once('unexpected-response', (_request, response) => {
        signal?.removeEventListener('abort', aborted);
        readReply(response.statusCode ?? 0, response.headers, response, `GET ${what}`).then(
          () => reject(new ClientError('badReply', `GET ${what}: the answer is no channel`)),
          reject,
        );
      });
      socket.on('error', (cause) => {
        signal?.removeEventListener('abort', aborted);
        // Once it is open, the close event that follows carries the error.
        reject(new ClientError('unreachable', `GET ${what}: the connection failed: ${cause.message}`, { cause }));
      });
      if (signal?.aborted === true) aborted();
    });
  }

  /** Resolves when the server has marked the end of its data, or has disconnected, and `output` has everything. */
  async writeTo(output: Writable): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#take = (bytes, isBinary) => {
        if (!isBinary) {
          if (bytes.length === 0) resolve();
          return;
        }
        this.receivedBytes += bytes.length;
        if (output.destroyed || output.writableEnded) return;
        output.write(bytes);
        // Buffered data of the socket still arrives after a pause.
        if (output.writableLength <= maxWaitingBytes || this.#socket.isPaused) return;
        this.#socket.pause();
        output.once('drain', () => this.#socket.resume());
      };
      void this.#gone.then(resolve, resolve);
    });
    // The reader of our output has closed it: notifies the writer, like a pipe.
    output.once('error', () => this.close());
    for (const { bytes, isBinary } of this.#early) this.#take?.(bytes, isBinary);
    this.#early = [];
    await ended;
    await flushed(output);
  }

  /** Sends all input and then its end; only the end without input. On a terminal that is Ctrl-D: a server takes the end mark there for the
   *  end of the session, and LXD drops the output that follows (real-world.md, section 15). */
  readFrom(input: Readable | undefined, { isTerminal = false } = {}): void {
    const end = (): void => (isTerminal ? this.#send(endOfTransmission, true) : this.#send(barrier, false));
    if (input === undefined) {
      end();
      return;
    }
    const send = (chunk: Buffer | string): void => {
      this.#send(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk), true, () => input.resume());
      if (this.#socket.bufferedAmount > maxWaitingBytes) input.pause();
    };
    input.on('data', send);
    input.once('end', end);
    input.once('error', end);
    this.#stopReading = (): void => {
      input.off('data', send);
      input.off('end', end);
      input.off('error', end);
      input.pause();
    };
    if (input.readableEnded || input.destroyed) end();
  }

  sendText(text: string): void {
    this.#send(Buffer.from(text), false);
  }

  close(): void {
    this.#stopReading();
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.close(1000);
    else if (this.#socket.readyState === this.#socket.CONNECTING) this.#socket.terminate();
  }

  #send(bytes: Buffer, binary: boolean, sent: () => void = () => {}): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(bytes, { binary, compress: false }, (error) => error ?? sent());
  }
}

function flushed(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (output.destroyed || output.writableEnded || output.writableLength === 0) resolve();
    else output.write('', () => resolve());
  });
}
