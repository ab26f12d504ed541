// A minimal gRPC server for plugins on Node's HTTP/2: unary calls, and streams that only stay open. Knows no methods.
import { constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { reasonOf } from '../../server/lib/shared/reason.ts';

export type Unary = (request: Uint8Array) => Promise<Uint8Array> | Uint8Array;
export type Stream = (request: Uint8Array, send: (message: Uint8Array) => Promise<void>) => Promise<void>;
export type Method =
  /** `answered` is called when the whole answer has been sent. */
  | { readonly kind: 'unary'; readonly call: Unary; readonly answered?: () => void }
  /** Answers with any number of messages; `send` resolves when there is room for more. */
  | { readonly kind: 'stream'; readonly call: Stream }
  /** Stays open without a message until the client ends it. */
  | { readonly kind: 'silent' };
/** By path: `/package.Service/Method`. */
export type Methods = ReadonlyMap<string, Method>;

export const grpcStatus = {
  ok: 0,
  cancelled: 1,
  invalidArgument: 3,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
} as const;

class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface GrpcDeps {
  readonly methods: Methods;
  /** Called with errors that no client should be able to cause. */
  readonly onError: (method: string, error: unknown) => void;
  /** Called when a connection breaks. */
  readonly onBroken: (why: string) => void;
  /** go-plugin allows 256 MiB. */
  readonly maxMessageBytes?: number;
}

const headBytes = 5;
const defaultMessageBytes = 256 * 1024 * 1024;
/** Some clients refuse longer header values. */
const maxTextBytes = 8 * 1024;
const streamWindow = 1024 * 1024;
const connectionWindow = 16 * 1024 * 1024;
const sessionOptions = {
  settings: { initialWindowSize: streamWindow, maxConcurrentStreams: 1000, maxHeaderListSize: 64 * 1024 },
  /** In MB, including answers that wait for a slow client. Above the limit new calls are refused. */
  maxSessionMemory: 512,
} as const;
const answerHeaders = { ':status': 200, 'content-type': 'application/grpc+proto' } as const;
const okTrailers = { 'grpc-status': String(grpcStatus.ok) } as const;

/** Serves the calls of one connection until it ends. */
export function serveConnection(socket: Duplex, deps: GrpcDeps): void {
  const session = performServerHandshake(socket, sessionOptions);
  session.on('error', (error) => deps.onBroken(error.message));
  session.setLocalWindowSize(connectionWindow);
  session.on('stream', (stream, headers) => {
    // The client has reset the stream and waits for no answer.
    stream.on('error', () => {});
    serve(stream, headers[':path'] ?? '', deps);
  });
}

function serve(stream: ServerHttp2Stream, path: string, deps: GrpcDeps): void {
  const method = deps.methods.get(path);
  if (method?.kind === 'unary') serveUnary(stream, path, method, deps);
  else if (method?.kind === 'stream') serveStream(stream, path, method.call, deps);
  else if (method?.kind === 'silent') serveSilent(stream);
  else refuse(stream, new GrpcError(grpcStatus.unimplemented, `this plugin has no method ${path}`));
}

function serveSilent(stream: ServerHttp2Stream): void {
  respond(stream);
  stream.resume();
  stream.once('end', () => stream.end());
}

function serveStream(stream: ServerHttp2Stream, path: string, call: Stream, deps: GrpcDeps): void {
  const limit = deps.maxMessageBytes ?? defaultMessageBytes;
  const send = async (message: Uint8Array): Promise<void> => {
    if (stream.closed) throw new GrpcError(grpcStatus.cancelled, 'the client no longer listens');
    if (!stream.headersSent) respond(stream);
    if (!stream.write(framed(message))) await once(stream, ['drain', 'close']);
  };
  readBody(stream, headBytes + limit, (body) => {
    void (async () => {
      try {
        await call(readMessage(body, limit), send);
        if (!stream.headersSent) respond(stream);
        stream.end();
      } catch (error) {
        if (!(error instanceof GrpcError)) deps.onError(path, error);
        // After the first message only a reset can report the failure.
        if (stream.headersSent) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
        else refuse(stream, error);
      }
    })();
  });
}

/** Resolves at the first of the events. */
const once = (stream: ServerHttp2Stream, events: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    for (const event of events) stream.on(event, done);
  });

function serveUnary(
  stream: ServerHttp2Stream,
  path: string,
  method: Method & { readonly kind: 'unary' },
  { maxMessageBytes = defaultMessageBytes, onError }: GrpcDeps,
): void {
  const failed = (error: unknown): void => {
    if (!(error instanceof GrpcError)) onError(path, error);
    refuse(stream, error);
  };
  readBody(stream, headBytes + maxMessageBytes, (body) => {
    try {
      const reply = method.call(readMessage(body, maxMessageBytes));
      if (reply instanceof Promise) reply.then((message) => answer(stream, message, method.answered), failed);
      else answer(stream, reply, method.answered);
    } catch (error) {
      failed(error);
    }
  });
}

/** Calls `done` when the client has sent everything; bodies above the limit are passed as undefined. */
function readBody(stream: ServerHttp2Stream, limit: number, done: (body: Buffer | undefined) => void): void {
  let chunks: Buffer[] = [];
  let received = 0;
  stream.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received <= limit) chunks.push(chunk);
    else chunks = [];
  });
  stream.once('end', () => {
    if (stream.closed) return;
    const [first] = chunks;
    if (received > limit) done(undefined);
    else done(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
  });
}

/** Sends the headers of a successful answer. */
function respond(stream: ServerHttp2Stream): void {
  stream.respond(answerHeaders, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(okTrailers));
}

function answer(stream: ServerHttp2Stream, message: Uint8Array, answered: (() => void) | undefined): void {
  if (stream.closed) return;
  respond(stream);
  if (answered !== undefined) stream.once('close', answered);
  stream.end(framed(message));
}

function refuse(stream: ServerHttp2Stream, error: unknown): void {
  if (stream.closed) return;
  const status = error instanceof GrpcError ? error.status : grpcStatus.internal;
  const text = reasonOf(error);
  const encoded = encodeURIComponent(Buffer.from(text).toString()).slice(0, maxTextBytes).replace(/%.?$/, '');
  stream.resume();
  stream.respond({ ...answerHeaders, 'grpc-status': String(status), 'grpc-message': encoded }, { endStream: true });
}

/** Frames one message: a byte for compression, the length, the body. */
function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, headBytes);
  return bytes;
}

function readMessage(body: Buffer | undefined, maxMessageBytes: number): Uint8Array {
  if (body === undefined) {
    throw new GrpcError(grpcStatus.resourceExhausted, `the message is larger than ${maxMessageBytes} bytes`);
  }
  if (body.length < headBytes) throw new GrpcError(grpcStatus.invalidArgument, 'the message is missing');
  if (body[0] !== 0) throw new GrpcError(grpcStatus.unimplemented, 'compressed messages are not supported');
  const length = body.readUInt32BE(1);
  if (length !== body.length - headBytes) {
    throw new GrpcError(
      grpcStatus.invalidArgument,
      `the message has ${body.length - headBytes} bytes, but its header says ${length}`,
    );
  }
  return body.subarray(headBytes);
}
