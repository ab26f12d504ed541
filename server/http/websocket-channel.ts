// A websocket as a channel of an operation: frames in order, limited in both directions. Does not interpret them.
import type { Duplex } from 'node:stream';
import { type RawData, WebSocket } from 'ws';
import type { Channel, Frame } from '../operations/channels.ts';

/** Beyond this the peer is not read, or the sender waits. */
const maxWaitingBytes = 256 * 1024;
/** What a waiting frame costs beside its content: empty frames fill memory, too. */
const frameBytes = 128;
/** How often a peer that is not read is pinged: only a failed write says that its connection has ended. Nobody waits for its answer. */
const pingMs = 5_000;
/** How often a peer is pinged whose silence ends its connection, and after how many pings without an answer. */
const lifePingMs = 10_000;
const maxUnanswered = 4;
/** How long the peer may take to receive the rest before the connection closes. */
const closeGraceMs = 30_000;

/** A websocket that reports (`leaving`) its peer's close frame: the connection itself ends two round trips later. */
export class ChannelSocket extends WebSocket {
  /** Called only to answer that frame: this side never starts a close. */
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, reason);
    this.emit('leaving');
  }
}

/** `socket` is the connection below `peer`. For a peer that is no ChannelSocket, leaving is its end. */
export function channelOf(peer: WebSocket, socket: Duplex): Channel {
  const gone = new Promise<void>((resolve) => {
    peer.once('leaving', () => resolve());
    peer.once('close', () => resolve());
    // The close event follows.
    peer.on('error', () => peer.terminate());
  });
  let isClosing = false;
  const sendFrame = (bytes: Uint8Array, binary: boolean): Promise<void> | undefined => {
    if (peer.readyState !== peer.OPEN || isClosing) return undefined;
    if (peer.bufferedAmount + bytes.length <= maxWaitingBytes) {
      peer.send(bytes, { binary, compress: false }, () => {});
      return undefined;
    }
    return new Promise((resolve) => {
      peer.send(bytes, { binary, compress: false }, () => resolve());
    });
  };
  return {
    frames: framesOf(peer),
    send: (bytes) => sendFrame(bytes, true),
    barrier: () => sendFrame(Buffer.alloc(0), false),
    close: () => {
      if (isClosing) return;
      isClosing = true;
      endWhenSent(peer, socket);
    },
    silent: () => silenceOf(peer),
    gone,
  };
}

/** Counts pings, not time: a process that was stopped for a while has not read the answers yet. */
function silenceOf(peer: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    let unanswered = 0;
    const heard = (): void => void (unanswered = 0);
    peer.on('message', heard).on('pong', heard);
    const pings = setInterval(() => {
      if (unanswered >= maxUnanswered) {
        clearInterval(pings);
        resolve();
        return;
      }
      unanswered += 1;
      if (peer.readyState === peer.OPEN) peer.ping();
    }, lifePingMs).unref();
    for (const end of ['leaving', 'close']) peer.once(end, () => clearInterval(pings));
  });
}

/** Ends like LXD: after everything was sent, the connection closes, without a close frame. */
function endWhenSent(peer: WebSocket, socket: Duplex): void {
  const giveUp = setTimeout(() => peer.terminate(), closeGraceMs);
  giveUp.unref();
  peer.once('close', () => clearTimeout(giveUp));
  peer.resume();
  socket.end();
}

function framesOf(peer: WebSocket): AsyncIterable<Frame> {
  const waiting: Frame[] = [];
  let waitingBytes = 0;
  let isOver = false;
  let wake = (): void => {};
  peer.on('message', (data: RawData, isBinary: boolean) => {
    const bytes = toBuffer(data);
    waiting.push({ kind: isBinary ? 'data' : 'text', bytes });
    waitingBytes += bytes.length + frameBytes;
    if (waitingBytes > maxWaitingBytes) peer.pause();
    wake();
  });
  const pings = setInterval(() => {
    if (peer.isPaused && peer.readyState === peer.OPEN && peer.bufferedAmount === 0) peer.ping();
  }, pingMs).unref();
  // Once this side is done nobody reads frames any more; reading continues to notice the peer's end.
  const end = (): void => {
    isOver = true;
    clearInterval(pings);
    wake();
  };
  peer.once('leaving', end);
  peer.once('close', end);
  return {
    [Symbol.asyncIterator]: () => ({
      async next(): Promise<IteratorResult<Frame>> {
        for (;;) {
          const frame = waiting.shift();
          if (frame !== undefined) {
            waitingBytes -= frame.bytes.length + frameBytes;
            if (peer.isPaused && waitingBytes <= maxWaitingBytes) peer.resume();
            return { done: false, value: frame };
          }
          if (isOver) return { done: true, value: undefined };
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      },
    }),
  };
}

function toBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
