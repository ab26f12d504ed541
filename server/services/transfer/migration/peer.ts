// The other side of a migration: messages on its control channel, streams of bytes on its fs channel, and every kind of end. The meaning of
// messages and streams is defined elsewhere.
import { migrationProtocol } from '../../../api/container/migration-messages.ts';
import { validateBody } from '../../../api/schema/validate-json.ts';
import { hasProto, shapeProblem, type JsonShape } from '../../../lib/json-shape.ts';
import { whenAborted } from '../../../lib/shared/abort-calls.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { Channel, Frame } from '../../../operations/channels.ts';
import { decodeLxd, encodeControl, encodeHeader, type LxdHeader } from './lxd/messages.ts';

export interface PeerChannels {
  readonly control: Channel;
  readonly fs: Channel;
  /** Set only in a live migration. */
  readonly criu?: Channel;
}

/** A stream of bytes from the other side. */
export interface Incoming {
  readonly bytes: AsyncIterable<Buffer>;
  /** Reads the rest, so that the next stream may begin. */
  drain(): Promise<void>;
}

export class PeerError extends Error {
  override readonly name = 'PeerError';
  /** Whether the other side reported the failure, and so knows of it. */
  readonly isReported: boolean;
  constructor(message: string, options: { readonly cause?: unknown; readonly isReported?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.isReported = options.isReported ?? false;
  }
}

type Message = Readonly<Record<string, unknown>> & { readonly type: string };

/** A correct peer waits for an answer long before this. */
const maxWaitingMessages = 16;
/** No valid message is larger. */
const maxMessageBytes = 8 * 1024 * 1024;
const messageShape: JsonShape = { maxDepth: 32, maxValues: 50_000 };
/** Time for a reason to arrive that was sent before the connection broke. */
const closeReasonMs = 2_000;

export class Peer {
  readonly #channels: PeerChannels;
  readonly #failed = new AbortController();
  readonly #frames: AsyncIterator<Frame>;
  readonly #messages: Message[] = [];
  #wake: () => void = () => {};
  #isOver = false;
  /** The other side has failed or left, and needs no message. */
  #isReported = false;
  /** The other side is a real LXD, as its header showed. */
  #isLxd = false;
  #isWatched = false;
  /** Aborts when the other side failed or left, or this side was cancelled. */
  readonly signal: AbortSignal;

  constructor(channels: PeerChannels, signal: AbortSignal) {
    this.#channels = channels;
    this.#frames = channels.fs.frames[Symbol.asyncIterator]();
    this.signal = AbortSignal.any([signal, this.#failed.signal]);
    void this.#watch(channels.fs, this.#listen());
    this.signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  async send(message: Message): Promise<void> {
    this.signal.throwIfAborted();
    await this.#untilFailed(this.#channels.control.send(this.#encoded(message)));
  }

  /** LXD knows only two final messages: success, and failure with its reason. */
  #encoded(message: Message): Buffer {
    if (!this.#isLxd) return Buffer.from(JSON.stringify(message));
    const { type, message: words } = message;
    return encodeControl(type !== 'error', typeof words === 'string' ? words : '');
  }

  /** Sends the first message, which a real LXD understands as well: LXD reads `header`, gantryd reads `offer`. */
  async sendOffer(offer: Message, header: LxdHeader): Promise<void> {
    this.signal.throwIfAborted();
    await this.#channels.control.send(encodeHeader(header, offer));
  }

  /** Answers a real LXD. */
  async sendHeader(header: LxdHeader): Promise<void> {
    this.signal.throwIfAborted();
    await this.#channels.control.send(encodeHeader(header));
  }

  /** The next message if it is the header of a real LXD; undefined for any other, which `receive` then returns. */
  async takeHeader(): Promise<LxdHeader | undefined> {
    await this.#oneWaits();
    const [first] = this.#messages;
    if (first?.type !== lxdHeader) return undefined;
    this.#messages.shift();
    return first['header'] as LxdHeader;
  }

  /** The next message, which must match the schema. Throws PeerError if the other side failed, left, or sent another message. */
  async receive(schema: Parameters<typeof validateBody>[0]): Promise<unknown> {
    await this.#oneWaits();
    const message = this.#messages.shift();
    const [problem] = validateBody(schema, message);
    if (problem === undefined) return message;
    const where = problem.path === '' ? '' : `${problem.path} `;
    throw new PeerError(`the other side sent a message that was not expected here: ${where}${problem.message}`);
  }

  async #oneWaits(): Promise<void> {
    while (this.#messages.length === 0) {
      this.signal.throwIfAborted();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Sends all of `source` and the end mark. `taken` is called with every piece, and may delay the next. */
  async sendStream(
    source: AsyncIterable<Uint8Array>,
    taken: (bytes: number) => Promise<void> | undefined,
  ): Promise<void> {
    for await (const piece of source) {
      this.signal.throwIfAborted();
      await taken(piece.length);
      await this.#untilFailed(this.#channels.fs.send(piece));
    }
    this.signal.throwIfAborted();
    await this.#untilFailed(this.#channels.fs.barrier());
  }

  /** The kernel needs a quarter of an hour to give up what it sends to a host that vanished; the control channel reports it before. */
  async #untilFailed(sending: Promise<void> | undefined): Promise<void> {
    if (sending === undefined) return;
    await new Promise<void>((resolve, reject) => {
      const withdraw = whenAborted(this.signal, () => reject(this.signal.reason as Error));
      void sending.then(resolve, reject).finally(withdraw);
    });
  }

  /** One stream, up to its end mark; throws if the mark is missing. Without a reader the other side has to wait. */
  receiveStream(taken: (bytes: number) => void): Incoming {
    let hasEnded = false;
    const next = async (): Promise<Buffer | undefined> => {
      if (hasEnded) return undefined;
      const { done, value } = await this.#frames.next();
      if (done === true) throw await this.#closeReason();
      hasEnded = value.kind === 'text';
      if (hasEnded) return undefined;
      taken(value.bytes.length);
      return value.bytes;
    };
    async function* bytes(): AsyncGenerator<Buffer, void, undefined> {
      for (let piece = await next(); piece !== undefined; piece = await next()) yield piece;
    }
    const drain = async (): Promise<void> => {
      while ((await next()) !== undefined);
    };
    return { bytes: bytes(), drain };
  }

  /** Marks this side as done: the other one may now leave without a failure. */
  close(): void {
    this.#isOver = true;
    for (const channel of this.#all()) channel.close();
  }

  /** Sends the reason to the other side, unless the reason came from it. Never throws. */
  async fail(error: unknown): Promise<void> {
    if (!this.#isReported) {
      const message = this.#encoded({ type: 'error', message: errorText(error) });
      try {
        await this.#channels.control.send(message);
      } catch {
        // The other side has left.
      }
    }
    this.close();
  }

  #all(): readonly Channel[] {
    return Object.values(this.#channels).filter((channel): channel is Channel => channel !== undefined);
  }

  async #listen(): Promise<void> {
    try {
      for await (const { bytes } of this.#channels.control.frames) {
        const message = parseMessage(bytes);
        if (message.type === lxdHeader) this.#isLxd = true;
        else if (!this.#isLxd) this.#watchSilence();
        // LXD leaves right after this message, while the local rsync may still be ending.
        if (this.#isLxd && message.type === 'done') this.#isOver = true;
        if (message.type === 'error') {
          this.#isReported = true;
          this.#fail(new PeerError(`the other side failed: ${String(message['message'])}`, { isReported: true }));
          return;
        }
        if (this.#messages.length >= maxWaitingMessages)
          throw new PeerError('the other side sends messages and reads no answer');
        this.#messages.push(message);
        this.#wake();
      }
      this.#fail(new PeerError('the other side closed the connection before the migration ended'));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** LXD reads its control channel only between transfers, and is left to the kernel. */
  #watchSilence(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    void this.#channels.control.silent().then(() => {
      this.#isReported = true;
      return this.#fail(new PeerError('the other side does not answer any more: its host or the network is down'));
    });
  }

  /** If the data channel breaks first, the reason may still arrive on the control channel. */
  async #watch(fs: Channel, heard: Promise<void>): Promise<void> {
    await fs.gone;
    await Promise.race([heard, new Promise((resolve) => setTimeout(resolve, closeReasonMs).unref())]);
    this.#fail(new PeerError('the connection to the other side broke'));
  }

  async #closeReason(): Promise<unknown> {
    if (!this.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, closeReasonMs + 500);
        this.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
      });
    }
    return this.signal.aborted ? this.signal.reason : new PeerError('the connection to the other side broke');
  }

  #fail(error: unknown): void {
    if (!this.#isOver) this.#failed.abort(error);
    this.#wake();
  }
}

/** The type that `parseMessage` gives to a header of a real LXD; JSON cannot contain it. */
const lxdHeader = 'header of LXD';

/** JSON of gantryd begins with a brace; messages of LXD begin with another byte. Throws PeerError for anything else. */
export function parseMessage(bytes: Buffer): Message {
  if (bytes.length > maxMessageBytes) throw new PeerError(`the other side sent a message of ${bytes.length} bytes`);
  return bytes[0] === '{'.charCodeAt(0) ? parseJson(bytes) : parseLxd(bytes);
}

function parseLxd(bytes: Buffer): Message {
  try {
    const frame = decodeLxd(bytes);
    if (frame.kind === 'offer') return parseJson(frame.json);
    if (frame.kind === 'header') return { type: lxdHeader, header: frame.header };
    return frame.success ? { type: 'done' } : { type: 'error', message: frame.message };
  } catch (cause) {
    if (cause instanceof PeerError) throw cause;
    const message = `the other side speaks neither ${migrationProtocol} nor the protocol of a real LXD`;
    throw new PeerError(message, { cause });
  }
}

function parseJson(bytes: Buffer): Message {
  const broken = shapeProblem(bytes, messageShape);
  if (broken !== undefined) throw new PeerError(`the other side sent a message that ${broken}`);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
    if (hasProto(value)) throw new PeerError('a member is named __proto__');
  } catch (cause) {
    throw new PeerError(`the other side does not speak ${migrationProtocol}`, { cause });
  }
  if (typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string') {
    if (value.type !== lxdHeader) return value as Message;
  }
  throw new PeerError('the other side sent a message without a type');
}
