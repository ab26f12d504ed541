// A gRPC server for what plugins need of it, on node:http2: unary calls, and streams that only have to stay open.
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';

export type Unary = (request: Uint8Array) => Promise<Uint8Array> | Uint8Array;
export type Method =
  | { readonly kind: 'unary'; readonly call: Unary; readonly answered?: () => void }
  /** Kept open without a word until the client ends it. */
  | { readonly kind: 'silent' };
/** By path: `/package.Service/Method`. */
export type Methods = ReadonlyMap<string, Method>;

export const grpcStatus = { ok: 0, invalidArgument: 3, resourceExhausted: 8, unimplemented: 12, internal: 13 } as const;

export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** As go-plugin allows. */
const maxMessageBytes = 256 * 1024 * 1024;
const headBytes = 5;
const answerHeaders = { ':status': 200, 'content-type': 'application/grpc+proto' } as const;
const okTrailers = { 'grpc-status': '0' } as const;

/** Serves one call; `onError` hears of what no client should cause. */
export function serveStream(
  methods: Methods,
  onError: (method: string, error: unknown) => void,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  stream.on('error', () => {});
  const path = headers[':path'] ?? '';
  const method = methods.get(path);
  if (method === undefined) {
    stream.resume();
    refuse(stream, grpcStatus.unimplemented, `this plugin has no method ${path}`);
    return;
  }
  if (method.kind === 'silent') {
    stream.respond(answerHeaders, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(okTrailers));
    stream.resume();
    stream.once('end', () => stream.end());
    return;
  }
  collect(stream, (body) => {
    if (body instanceof GrpcError) refuse(stream, body.status, body.message);
    else void answer(stream, path, method, body, onError);
  });
}

async function answer(
  stream: ServerHttp2Stream,
  path: string,
  method: Method & { readonly kind: 'unary' },
  body: Buffer,
  onError: (method: string, error: unknown) => void,
): Promise<void> {
  try {
    const reply = await method.call(readMessage(body));
    if (stream.destroyed) return;
    const head = Buffer.allocUnsafe(headBytes);
    head[0] = 0;
    head.writeUInt32BE(reply.length, 1);
    stream.respond(answerHeaders, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(okTrailers));
    if (method.answered !== undefined) stream.once('close', method.answered);
    stream.end(Buffer.concat([head, reply]));
  } catch (error) {
    if (error instanceof GrpcError) {
      refuse(stream, error.status, error.message);
      return;
    }
    onError(path, error);
    refuse(stream, grpcStatus.internal, error instanceof Error ? error.message : String(error));
  }
}

function collect(stream: ServerHttp2Stream, done: (body: Buffer | GrpcError) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxMessageBytes + headBytes) chunks.push(chunk);
  });
  stream.once('end', () => {
    if (size > maxMessageBytes + headBytes) {
      done(new GrpcError(grpcStatus.resourceExhausted, `the message is larger than ${maxMessageBytes} bytes`));
    } else done(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
  });
}

/** One message: a byte that says whether it is compressed, its length, itself. */
function readMessage(body: Buffer): Uint8Array {
  if (body.length < headBytes) throw new GrpcError(grpcStatus.invalidArgument, 'there is no message');
  if (body[0] !== 0) throw new GrpcError(grpcStatus.unimplemented, 'compressed messages are not understood');
  const length = body.readUInt32BE(1);
  if (length !== body.length - headBytes) {
    throw new GrpcError(grpcStatus.invalidArgument, 'the message is not as long as it says');
  }
  return body.subarray(headBytes);
}

function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed || stream.headersSent) return;
  const trailers = { 'grpc-status': String(status), 'grpc-message': encodeURIComponent(message) };
  stream.respond({ ...answerHeaders, ...trailers }, { endStream: true });
}
