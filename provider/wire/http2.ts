// The server's side of one HTTP/2 connection (RFC 9113), for what gRPC needs of it: requests whose bodies are read whole, answers
// of headers, one body and trailers. Knows no methods. Node's own costs three times as much for each request.
import type { Duplex } from 'node:stream';
import {
  defaultMaxFrame,
  defaultWindow,
  errorCodes,
  flags,
  frame,
  frameHeadBytes,
  frameTypes,
  goAway,
  largestMaxFrame,
  largestWindow,
  preface,
  reset,
  settingNumbers,
  settingsFrame,
  windowUpdate,
  writeFrameHead,
} from './frames.ts';
import { HeaderReader, HpackError } from './hpack.ts';

export interface Http2Deps {
  readonly socket: Duplex;
  /** Larger bodies are told of as undefined. */
  readonly maxBodyBytes: number;
  /** The headers of a request have come. */
  readonly opened: (stream: Stream) => void;
  /** The client has said everything. */
  readonly ended: (stream: Stream, body: Buffer | undefined) => void;
  /** The client does what no client may: the connection ends. */
  readonly broken: (why: string) => void;
}

const maxStreams = 1000;
const maxHeaderBytes = 64 * 1024;
const streamWindow = 1024 * 1024;
const connectionWindow = 16 * 1024 * 1024;
/** More than answers may ever wait for a client that reads nothing: windows hold back bodies, so these are replies to pings. */
const maxUnreadBytes = 512 * 1024 * 1024;
const none = Buffer.alloc(0);

class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** One request and its answer. */
export class Stream {
  readonly id: number;
  readonly path: string;
  /** What the client takes of its answer before it allows more. */
  window: number;
  chunks: Buffer[] = [];
  received = 0;
  /** Received and not yet allowed again. */
  unallowed = 0;
  isRemoteEnded = false;
  /** The answer's body and trailers are given, if not yet sent. */
  isAnswered = false;
  /** Nothing of it is wanted any more. */
  isOver = false;
  body: Buffer = none;
  trailers: Buffer = none;
  sent: (() => void) | undefined;

  constructor(id: number, path: string, window: number) {
    this.id = id;
    this.path = path;
    this.window = window;
  }
}

/** Reads from the socket at once and until it ends. Header blocks are given as `writeHeaders` makes them. */
export class Http2Connection {
  readonly #deps: Http2Deps;
  readonly #streams = new Map<number, Stream>();
  /** Answers that the client does not take yet. */
  readonly #waiting = new Set<Stream>();
  readonly #headers = new HeaderReader();
  #input: Buffer = none;
  #hasPreface = false;
  #lastStream = 0;
  /** A block of headers that goes on in the next frame. */
  #open: { readonly stream: number; readonly flag: number; readonly parts: Buffer[]; size: number } | undefined;
  #window = defaultWindow;
  #initialWindow = defaultWindow;
  #maxFrame = defaultMaxFrame;
  #unallowed = 0;
  #output: Buffer[] = [];
  #sent: (() => void)[] = [];
  #isDone = false;

  constructor(deps: Http2Deps) {
    this.#deps = deps;
    const { socket } = deps;
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', (error: Error) => deps.broken(error.message));
    socket.on('close', () => this.#over());
    this.#send(
      settingsFrame([
        [settingNumbers.maxStreams, maxStreams],
        [settingNumbers.initialWindow, streamWindow],
        [settingNumbers.maxHeaderList, maxHeaderBytes],
      ]),
    );
    this.#send(windowUpdate(0, connectionWindow - defaultWindow));
  }

  /** The headers of an answer whose end comes later, by `reply` without headers. */
  begin(stream: Stream, headers: Buffer): void {
    if (!stream.isOver) this.#send(frame(frameTypes.headers, flags.endHeaders, stream.id, headers));
  }

  /** The whole answer, in one piece when the client takes it so; `sent` is called when the kernel has all of it. */
  reply(stream: Stream, headers: Buffer, body: Buffer, trailers: Buffer, sent?: () => void): void {
    if (stream.isOver || stream.isAnswered) return;
    stream.isAnswered = true;
    if (sent === undefined && this.#replyAtOnce(stream, headers, body, trailers)) return;
    if (headers.length > 0) this.begin(stream, headers);
    stream.body = body;
    stream.trailers = trailers;
    stream.sent = sent;
    this.#pump(stream);
  }

  /** In one piece of memory, when the client takes all of it now; that is nearly always. */
  #replyAtOnce(stream: Stream, headers: Buffer, body: Buffer, trailers: Buffer): boolean {
    const { id } = stream;
    if (headers.length === 0 || body.length === 0) return false;
    if (body.length > Math.min(this.#maxFrame, this.#window, stream.window)) return false;
    const bytes = Buffer.allocUnsafe(3 * frameHeadBytes + headers.length + body.length + trailers.length);
    let at = writeFrameHead(bytes, 0, headers.length, frameTypes.headers, flags.endHeaders, id);
    bytes.set(headers, at);
    at = writeFrameHead(bytes, at + headers.length, body.length, frameTypes.data, 0, id);
    bytes.set(body, at);
    const last = flags.endHeaders | flags.endStream;
    at = writeFrameHead(bytes, at + body.length, trailers.length, frameTypes.headers, last, id);
    bytes.set(trailers, at);
    stream.window -= body.length;
    this.#window -= body.length;
    this.#send(bytes);
    if (stream.isRemoteEnded) this.#forget(stream);
    return true;
  }

  /** As much of its body as the client takes, then the trailers. */
  #pump(stream: Stream): void {
    while (stream.body.length > 0) {
      const length = Math.min(stream.body.length, this.#maxFrame, this.#window, stream.window);
      if (length <= 0) {
        this.#waiting.add(stream);
        return;
      }
      this.#send(frame(frameTypes.data, 0, stream.id, stream.body.subarray(0, length)));
      stream.body = stream.body.subarray(length);
      stream.window -= length;
      this.#window -= length;
    }
    this.#waiting.delete(stream);
    this.#send(frame(frameTypes.headers, flags.endHeaders | flags.endStream, stream.id, stream.trailers));
    if (stream.sent !== undefined) this.#sent.push(stream.sent);
    if (stream.isRemoteEnded) this.#forget(stream);
  }

  #forget(stream: Stream): void {
    stream.isOver = true;
    stream.body = none;
    stream.chunks = [];
    this.#streams.delete(stream.id);
    this.#waiting.delete(stream);
  }

  /** What is said in one turn of the event loop goes out together. */
  #send(bytes: Buffer): void {
    if (this.#isDone) return;
    if (this.#output.length === 0) setImmediate(() => this.#flush());
    this.#output.push(bytes);
  }

  #flush(): void {
    const { socket } = this.#deps;
    const [output, sent] = [this.#output, this.#sent];
    [this.#output, this.#sent] = [[], []];
    if (socket.destroyed || output.length === 0) return;
    const bytes = output.length === 1 && output[0] !== undefined ? output[0] : Buffer.concat(output);
    socket.write(bytes, () => sent.forEach((each) => each()));
    if (socket.writableLength > maxUnreadBytes) socket.destroy();
  }

  #over(): void {
    this.#isDone = true;
    for (const stream of this.#streams.values()) this.#forget(stream);
  }

  #received(chunk: Buffer): void {
    if (this.#isDone) return;
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
    try {
      this.#readFrames();
    } catch (error) {
      if (!(error instanceof ConnectionError || error instanceof HpackError)) throw error;
      const code = error instanceof HpackError ? errorCodes.compression : error.code;
      this.#send(goAway(this.#lastStream, code, error.message));
      this.#flush();
      this.#isDone = true;
      this.#deps.socket.end();
      this.#deps.broken(error.message);
    }
  }

  #readFrames(): void {
    if (!this.#hasPreface) {
      const length = Math.min(this.#input.length, preface.length);
      if (!this.#input.subarray(0, length).equals(preface.subarray(0, length))) {
        throw new ConnectionError(errorCodes.protocol, 'this is not HTTP/2');
      }
      if (length < preface.length) return;
      this.#input = this.#input.subarray(length);
      this.#hasPreface = true;
    }
    const input = this.#input;
    let at = 0;
    while (input.length - at >= frameHeadBytes) {
      const length = input.readUIntBE(at, 3);
      if (length > defaultMaxFrame) throw new ConnectionError(errorCodes.frameSize, `a frame has ${length} bytes`);
      const end = at + frameHeadBytes + length;
      if (end > input.length) break;
      const id = input.readUInt32BE(at + 5) & largestWindow;
      this.#readFrame(input[at + 3] ?? 0, input[at + 4] ?? 0, id, input.subarray(at + frameHeadBytes, end));
      at = end;
    }
    this.#input = at === input.length ? none : input.subarray(at);
  }

  #readFrame(type: number, flag: number, id: number, payload: Buffer): void {
    if (this.#open !== undefined && (type !== frameTypes.continuation || id !== this.#open.stream)) {
      throw new ConnectionError(errorCodes.protocol, 'headers are interrupted');
    }
    if (type === frameTypes.data) this.#readData(flag, id, payload);
    else if (type === frameTypes.headers) this.#readHeaders(flag, id, payload);
    else if (type === frameTypes.continuation) this.#readContinuation(flag, payload);
    else if (type === frameTypes.windowUpdate) this.#readWindowUpdate(id, payload);
    else if (type === frameTypes.settings) this.#readSettings(flag, id, payload);
    else if (type === frameTypes.ping) this.#readPing(flag, id, payload);
    else if (type === frameTypes.reset) this.#readReset(id, payload);
    else if (type === frameTypes.push) throw new ConnectionError(errorCodes.protocol, 'clients push nothing');
    // Priorities, the end of a client, and what later versions may have, change nothing here.
  }

  #readData(flag: number, id: number, payload: Buffer): void {
    if (id === 0 || id > this.#lastStream) throw new ConnectionError(errorCodes.protocol, `data of no stream (${id})`);
    this.#unallowed += payload.length;
    if (this.#unallowed >= connectionWindow / 2) {
      this.#send(windowUpdate(0, this.#unallowed));
      this.#unallowed = 0;
    }
    const stream = this.#streams.get(id);
    // It was answered or given up before.
    if (stream === undefined) return;
    if (stream.isRemoteEnded) throw new ConnectionError(errorCodes.streamClosed, `data after the end of stream ${id}`);
    const data = unpadded(flag, payload);
    stream.received += data.length;
    if (stream.received <= this.#deps.maxBodyBytes && !stream.isAnswered) stream.chunks.push(data);
    else stream.chunks = [];
    if ((flag & flags.endStream) !== 0) {
      this.#ended(stream);
      return;
    }
    stream.unallowed += payload.length;
    if (stream.unallowed < streamWindow / 2) return;
    this.#send(windowUpdate(id, stream.unallowed));
    stream.unallowed = 0;
  }

  #ended(stream: Stream): void {
    stream.isRemoteEnded = true;
    if (stream.isAnswered) {
      if (!this.#waiting.has(stream)) this.#forget(stream);
      return;
    }
    const { chunks } = stream;
    const whole = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    stream.chunks = [];
    this.#deps.ended(stream, stream.received > this.#deps.maxBodyBytes ? undefined : whole);
  }

  #readHeaders(flag: number, id: number, payload: Buffer): void {
    if (id % 2 === 0) throw new ConnectionError(errorCodes.protocol, `a client opens no stream ${id}`);
    const fields = unpadded(flag, payload).subarray((flag & flags.priority) === 0 ? 0 : 5);
    this.#open = { stream: id, flag, parts: [fields], size: fields.length };
    if ((flag & flags.endHeaders) !== 0) this.#endHeaders(this.#open);
  }

  #readContinuation(flag: number, payload: Buffer): void {
    const open = this.#open;
    if (open === undefined) throw new ConnectionError(errorCodes.protocol, 'headers go on that never began');
    open.parts.push(payload);
    open.size += payload.length;
    if (open.size > maxHeaderBytes || open.parts.length > maxHeaderBytes / 1024) {
      throw new ConnectionError(errorCodes.calm, 'the headers are too large');
    }
    if ((flag & flags.endHeaders) !== 0) this.#endHeaders(open);
  }

  #endHeaders({ stream: id, flag, parts }: { stream: number; flag: number; parts: Buffer[] }): void {
    this.#open = undefined;
    let path = '';
    let size = 0;
    this.#headers.read(
      parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts),
      (name, value) => {
        size += name.length + value.length + 32;
        if (size > maxHeaderBytes) throw new ConnectionError(errorCodes.calm, 'the headers are too large');
        if (name === ':path') path = value;
      },
    );
    const isEnd = (flag & flags.endStream) !== 0;
    const known = this.#streams.get(id);
    if (known !== undefined) {
      if (!isEnd || known.isRemoteEnded)
        throw new ConnectionError(errorCodes.protocol, `headers twice on stream ${id}`);
      this.#ended(known);
      return;
    }
    // Trailers of a stream that was given up.
    if (id <= this.#lastStream) return;
    this.#lastStream = id;
    if (this.#streams.size >= maxStreams) {
      this.#send(reset(id, errorCodes.refusedStream));
      return;
    }
    const stream = new Stream(id, path, this.#initialWindow);
    this.#streams.set(id, stream);
    this.#deps.opened(stream);
    if (isEnd) this.#ended(stream);
  }

  #readWindowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(errorCodes.frameSize, 'a window is no number');
    const more = payload.readUInt32BE() & largestWindow;
    if (id === 0) {
      this.#window += more;
      if (more === 0 || this.#window > largestWindow) throw new ConnectionError(errorCodes.flowControl, 'a bad window');
      for (const stream of this.#waiting) this.#pump(stream);
      return;
    }
    if (id > this.#lastStream) throw new ConnectionError(errorCodes.protocol, `a window of no stream (${id})`);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.window += more;
    if (more === 0 || stream.window > largestWindow) this.#giveUp(stream, errorCodes.flowControl);
    else if (this.#waiting.has(stream)) this.#pump(stream);
  }

  #giveUp(stream: Stream, code: number): void {
    this.#send(reset(stream.id, code));
    this.#forget(stream);
  }

  #readSettings(flag: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new ConnectionError(errorCodes.protocol, 'settings belong to no stream');
    if ((flag & flags.ack) !== 0) return;
    if (payload.length % 6 !== 0) throw new ConnectionError(errorCodes.frameSize, 'settings are cut off');
    for (let at = 0; at < payload.length; at += 6) this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.#send(frame(frameTypes.settings, flags.ack, 0, none));
    for (const stream of this.#waiting) this.#pump(stream);
  }

  #set(setting: number, value: number): void {
    if (setting === settingNumbers.maxFrame) {
      if (value < defaultMaxFrame || value > largestMaxFrame) {
        throw new ConnectionError(errorCodes.protocol, `frames of ${value} bytes`);
      }
      this.#maxFrame = value;
    }
    if (setting !== settingNumbers.initialWindow) return;
    if (value > largestWindow) throw new ConnectionError(errorCodes.flowControl, `a window of ${value} bytes`);
    for (const stream of this.#streams.values()) stream.window += value - this.#initialWindow;
    this.#initialWindow = value;
  }

  #readPing(flag: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new ConnectionError(errorCodes.protocol, 'a ping belongs to no stream');
    if (payload.length !== 8) throw new ConnectionError(errorCodes.frameSize, 'a ping has eight bytes');
    if ((flag & flags.ack) === 0) this.#send(frame(frameTypes.ping, flags.ack, 0, payload));
  }

  #readReset(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(errorCodes.frameSize, 'a reset has four bytes');
    if (id === 0 || id > this.#lastStream)
      throw new ConnectionError(errorCodes.protocol, `a reset of no stream (${id})`);
    const stream = this.#streams.get(id);
    if (stream !== undefined) this.#forget(stream);
  }
}

/** Without the padding that its flag tells of. */
function unpadded(flag: number, payload: Buffer): Buffer {
  if ((flag & flags.padded) === 0) return payload;
  const padding = payload[0] ?? 0;
  if (payload.length < 1 + padding) throw new ConnectionError(errorCodes.protocol, 'more padding than frame');
  return payload.subarray(1, payload.length - padding);
}
