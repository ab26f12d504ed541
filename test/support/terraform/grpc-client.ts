// A bare gRPC client on node:http2, byte by byte, to try the plugin's server from outside.
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectNet } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface GrpcAnswer {
  readonly status: number;
  readonly message: string;
  readonly body: Buffer;
  /** Each message of a stream. */
  readonly messages: readonly Buffer[];
}

export interface GrpcClient {
  call(path: string, message?: Uint8Array): Promise<GrpcAnswer>;
  /** The bytes unchanged, without a frame of ours. */
  raw(path: string, bytes: Buffer): Promise<GrpcAnswer>;
  /** Resolves with the end of the stream; `end` closes our side. */
  open(path: string): { readonly ended: Promise<void>; end(): void };
  readonly session: ClientHttp2Session;
  close(): void;
}

export interface ClientTls {
  readonly cert?: string;
  readonly key?: string;
}

function messagesIn(bytes: Buffer): readonly Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    found.push(bytes.subarray(at + 5, end));
    at = end;
  }
  return found;
}

/** Over TLS when `tls` is given; the server's certificate is not verified here. */
export function grpcClient(socketPath: string, tls?: ClientTls): GrpcClient {
  const session = connect('http://localhost', {
    createConnection: () =>
      tls === undefined
        ? connectNet(socketPath)
        : connectTls({
            path: socketPath,
            servername: 'localhost',
            rejectUnauthorized: false,
            ALPNProtocols: ['h2'],
            ...tls,
          }),
  });
  session.on('error', () => {});
  const send = (path: string, bytes: Buffer): Promise<GrpcAnswer> =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      let [status, message] = ['', ''];
      const chunks: Buffer[] = [];
      const note = (headers: IncomingHttpHeaders): void => {
        status = String(headers['grpc-status'] ?? status);
        message = decodeURIComponent(String(headers['grpc-message'] ?? message));
      };
      stream.on('response', note);
      stream.on('trailers', note);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('close', () => {
        if (status === '') reject(new Error('the connection ended without an answer'));
        else {
          const bytes = Buffer.concat(chunks);
          resolve({ status: Number(status), message, body: bytes.subarray(5), messages: messagesIn(bytes) });
        }
      });
      stream.end(bytes);
    });
  return {
    session,
    raw: send,
    call(path, payload = Buffer.alloc(0)) {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(payload.length, 1);
      return send(path, Buffer.concat([head, payload]));
    },
    open(path) {
      const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
      stream.resume();
      const ended = new Promise<void>((resolve) => stream.once('close', () => resolve()));
      return { ended, end: () => void stream.end() };
    },
    close: () => session.destroy(),
  };
}
