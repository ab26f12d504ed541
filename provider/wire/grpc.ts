// A gRPC server for what plugins need of it: unary calls, and streams that only have to stay open.
import type { Duplex } from 'node:stream';
import { writeHeaders } from './hpack.ts';
import { Http2Connection, type Stream } from './http2.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';

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

export interface GrpcDeps {
  readonly methods: Methods;
  /** Hears of what no client should cause. */
  readonly onError: (method: string, error: unknown) => void;
  /** A connection ended otherwise than by being closed. */
  readonly onBroken: (why: string) => void;
}

/** As go-plugin allows. */
const maxMessageBytes = 256 * 1024 * 1024;
const headBytes = 5;
/** A header has to fit into a frame. */
const maxWordsBytes = 8 * 1024;
const none = Buffer.alloc(0);
const answerFields = { ':status': '200', 'content-type': 'application/grpc+proto' } as const;
const answerHeaders = writeHeaders(answerFields);
const okTrailers = writeHeaders({ 'grpc-status': '0' });

/** Serves the calls of one connection until it ends. */
export function serveConnection(socket: Duplex, { methods, onError, onBroken }: GrpcDeps): void {
  const answer = (stream: Stream, message: Uint8Array, answered?: () => void): void =>
    connection.reply(stream, answerHeaders, framed(message), okTrailers, answered);
  const refuse = (stream: Stream, error: unknown): void => {
    const known = error instanceof GrpcError;
    if (!known) onError(stream.path, error);
    const message = reasonOf(error);
    connection.reply(stream, none, none, errorHeaders(known ? error.status : grpcStatus.internal, message));
  };
  const connection = new Http2Connection({
    socket,
    maxBodyBytes: maxMessageBytes + headBytes,
    broken: onBroken,
    opened(stream) {
      const method = methods.get(stream.path);
      if (method?.kind === 'silent') connection.begin(stream, answerHeaders);
      else if (method === undefined)
        refuse(stream, new GrpcError(grpcStatus.unimplemented, `this plugin has no method ${stream.path}`));
    },
    ended(stream, body) {
      const method = methods.get(stream.path);
      if (method?.kind === 'silent') connection.reply(stream, none, none, okTrailers);
      if (method?.kind !== 'unary') return;
      try {
        const reply = method.call(readMessage(body));
        if (reply instanceof Promise) {
          reply.then(
            (message) => answer(stream, message, method.answered),
            (error: unknown) => refuse(stream, error),
          );
        } else answer(stream, reply, method.answered);
      } catch (error) {
        refuse(stream, error);
      }
    },
  });
}

/** One message: a byte that says whether it is compressed, its length, itself. */
function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, headBytes);
  return bytes;
}

function readMessage(body: Buffer | undefined): Uint8Array {
  if (body === undefined) {
    throw new GrpcError(grpcStatus.resourceExhausted, `the message is larger than ${maxMessageBytes} bytes`);
  }
  if (body.length < headBytes) throw new GrpcError(grpcStatus.invalidArgument, 'there is no message');
  if (body[0] !== 0) throw new GrpcError(grpcStatus.unimplemented, 'compressed messages are not understood');
  const length = body.readUInt32BE(1);
  if (length !== body.length - headBytes) {
    throw new GrpcError(grpcStatus.invalidArgument, 'the message is not as long as it says');
  }
  return body.subarray(headBytes);
}

/** Of an answer that has nothing else. */
function errorHeaders(status: number, message: string): Buffer {
  const words = encodeURIComponent(message).slice(0, maxWordsBytes).replace(/%.?$/, '');
  return writeHeaders({ ...answerFields, 'grpc-status': String(status), 'grpc-message': words });
}
