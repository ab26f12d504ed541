// Servers on loopback with images, good and bad: a simplestreams tree, addresses of images, a proxy.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer as createHttp,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttps } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { makePair } from '../daemons/tls.ts';

export const sha256 = (...parts: readonly Buffer[]): string =>
  createHash('sha256').update(Buffer.concat(parts)).digest('hex');

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface FakeServer {
  readonly url: string;
  /** PEM; empty for plain http. */
  readonly certificate: string;
  /** `METHOD path?query` of each request, in order. */
  readonly asked: string[];
  /** Changes the answers from now on. */
  handle: Handler;
  close(): Promise<void>;
}

/** `tunnel`: takes over the connections of CONNECT requests. */
export async function fakeServer(
  scheme: 'http' | 'https',
  handle: Handler,
  tunnel?: (socket: Duplex) => void,
): Promise<FakeServer> {
  const asked: string[] = [];
  const self = { handle };
  const answer: Handler = (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    self.handle(request, response);
  };
  const pair = scheme === 'https' ? await selfSigned() : undefined;
  const server: Server =
    pair === undefined ? createHttp(answer) : createHttps({ cert: pair.certPem, key: pair.keyPem }, answer);
  const sockets = new Set<Duplex>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('secureConnection', (socket: Socket) => sockets.add(socket));
  if (tunnel !== undefined) {
    server.on('connect', (request: IncomingMessage, socket: Duplex) => {
      asked.push(`CONNECT ${request.url}`);
      tunnel(socket);
    });
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(self, {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificate: pair?.certPem ?? '',
    asked,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
}

const selfSigned = () => makePair('images.example', { usage: 'server' });

export interface StreamVersion {
  readonly metadata: Buffer;
  readonly rootfs: Buffer;
  readonly ftype?: 'squashfs' | 'root.tar.xz';
}

export interface StreamProduct {
  readonly aliases: string;
  readonly arch: string;
  readonly versions: Readonly<Record<string, StreamVersion>>;
}

/** The files of a simplestreams server, by path. Change them to make it lie. */
export function streamTree(products: Readonly<Record<string, StreamProduct>>): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const listed = Object.entries(products).map(([name, { aliases, arch, versions }]) => {
    const dated = Object.entries(versions).map(([serial, version]) => {
      const at = `images/${name}/${serial}`;
      const ftype = version.ftype ?? 'root.tar.xz';
      const rootfs = `${at}/rootfs.${ftype === 'squashfs' ? 'squashfs' : 'tar.xz'}`;
      files.set(`${at}/lxd.tar.xz`, version.metadata);
      files.set(rootfs, version.rootfs);
      const combined = sha256(version.metadata, version.rootfs);
      const items = {
        'lxd.tar.xz': {
          ftype: 'lxd.tar.xz',
          path: `${at}/lxd.tar.xz`,
          size: version.metadata.length,
          sha256: sha256(version.metadata),
          [ftype === 'squashfs' ? 'combined_squashfs_sha256' : 'combined_rootxz_sha256']: combined,
        },
        root: { ftype, path: rootfs, size: version.rootfs.length, sha256: sha256(version.rootfs) },
      };
      return [serial, { label: 'release', items }];
    });
    const facts = { os: 'Busybox', release: 'one', release_title: 'One', version: '1.0', support_eol: '2031-05-06' };
    return [name, { aliases, arch, ...facts, versions: Object.fromEntries(dated) }];
  });
  const document = { datatype: 'image-downloads', format: 'products:1.0', products: Object.fromEntries(listed) };
  files.set('streams/v1/images.json', json(document));
  files.set(
    'streams/v1/index.json',
    json({
      format: 'index:1.0',
      index: {
        images: {
          datatype: 'image-downloads',
          path: 'streams/v1/images.json',
          format: 'products:1.0',
          products: Object.keys(products),
        },
        other: { datatype: 'image-ids', path: 'streams/v1/ids.json' },
      },
    }),
  );
  return files;
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

export const serveTree =
  (files: ReadonlyMap<string, Buffer>): Handler =>
  (request, response) => {
    const bytes = files.get((request.url ?? '/').slice(1));
    response.writeHead(bytes === undefined ? 404 : 200, bytes === undefined ? {} : { 'content-length': bytes.length });
    response.end(bytes);
  };

/** The address of an image, which answers HEAD according to the protocol. */
export const serveDirect =
  (
    image: Buffer,
    more: { readonly hash?: string; readonly location?: string; readonly prefix?: string } = {},
  ): Handler =>
  (request, response) => {
    if (request.method === 'HEAD') {
      const prefix = more.prefix ?? 'LXD';
      response.writeHead(200, {
        [`${prefix}-Image-Hash`]: more.hash ?? sha256(image),
        [`${prefix}-Image-URL`]: more.location ?? '/files/image.tar',
      });
      response.end();
      return;
    }
    response.writeHead(request.url === '/files/image.tar' ? 200 : 404);
    response.end(request.url === '/files/image.tar' ? image : '');
  };

/** A proxy that maps every name to the port of `target`, which proves that requests used it. */
export async function fakeProxy(target: () => FakeServer): Promise<FakeServer> {
  const port = (): number => Number(new URL(target().url).port);
  return fakeServer(
    'http',
    (request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://x');
      const onward = httpRequest(
        { host: '127.0.0.1', port: port(), method: request.method, path: pathname },
        (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        },
      );
      onward.on('error', () => response.destroy());
      onward.end();
    },
    (socket) => joinSockets(socket, port()),
  );
}

function joinSockets(a: Duplex, port: number): void {
  const b = connect(port, '127.0.0.1', () => a.write('HTTP/1.1 200 Connection established\r\n\r\n'));
  a.on('error', () => b.destroy());
  b.on('error', () => a.destroy());
  a.pipe(b);
  b.pipe(a);
}
