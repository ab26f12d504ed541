// A tenant that is the other server of a migration into its own project: its offers and streams, sent as they are.
import { WebSocket } from 'ws';
import { tarOf, type TarPiece } from '../images/hostile.ts';
import { until } from '../until.ts';
import type { SharedHost } from './shared-host.ts';
import type { SharedHostSuite } from './shared-host-suite.ts';

export const machine = {
  architecture: 'x86_64',
  profiles: ['default'],
  ephemeral: false,
  config: {} as Record<string, string>,
  devices: {} as Record<string, Record<string, string>>,
  description: '',
};
const time = '2030-01-01T00:00:00Z';
export const snapshotOf = (name: string, more: object = {}) => ({
  ...machine,
  name,
  stateful: false,
  createdAt: time,
  lastUsedAt: time,
  expiresAt: time,
  ...more,
});
export const offerOf = (more: object = {}) => ({
  type: 'offer',
  protocol: 'gantry-migration',
  versions: [1],
  release: 'x',
  kind: 'container',
  name: 'c',
  uuid: 'u',
  formats: ['tar'],
  object: machine,
  snapshots: [],
  ...more,
});
export const volumeOffer = (more: object = {}) =>
  offerOf({ kind: 'volume', object: { description: '', config: {} }, ...more });
export const volumeSnapshot = (name: string, more: object = {}) => ({
  name,
  description: '',
  config: {},
  createdAt: time,
  ...more,
});

export const directory = (name: string): TarPiece => ({ name, flag: '5' });
export const file = (name: string, content: string | Buffer = 'x'): TarPiece => ({ name, content, mode: 0o644 });
/** The members that differ, as a refresh gets them: without an end mark. */
export const changesOf = (...pieces: readonly TarPiece[]): Buffer => tarOf(...pieces).subarray(0, -1024);
/** The header of a node: numbers 8:1, or those of a deleted file in layered file systems. */
export const node = (header: Buffer): void => void (header.write('0000010\0', 329) + header.write('0000001\0', 337));
export const gone = (header: Buffer): void => void (header.write('0000000\0', 329) + header.write('0000000\0', 337));

interface Channel {
  readonly socket: WebSocket;
  readonly heard: () => string;
}

/** As the tenant, over TLS. Resolves to the status when it is refused. */
export function connect(host: SharedHost, path: string): Promise<Channel | number> {
  const { certPem, keyPem } = host.client;
  const url = `wss://${host.admin.daemon.httpsAddress() ?? ''}${path}`;
  const socket = new WebSocket(url, { cert: certPem, key: keyPem, rejectUnauthorized: false });
  let heard = '';
  socket.on('message', (bytes: Buffer) => (heard += bytes.toString('latin1')));
  socket.on('error', () => {});
  return new Promise((resolve) => {
    socket.once('open', () => resolve({ socket, heard: () => heard }));
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
  });
}

export interface Sent {
  readonly path?: string;
  readonly body?: object;
  readonly offer: object;
  /** One stream per part. */
  readonly streams?: readonly Buffer[];
}

export interface Met {
  readonly status: number;
  /** The error of the operation, or of the request when that was refused. */
  readonly err: string;
  /** The answer of the daemon. */
  readonly heard: string;
}

/** Requests a container, or what `path` creates, and sends it as its source. */
export async function sendTo(
  { host }: SharedHostSuite,
  name: string,
  { path = '/1.0/containers', body = {}, offer, streams = [] }: Sent,
): Promise<Met> {
  const sent = { name, source: { type: 'migration', mode: 'push' }, ...body };
  const answer = await host.tenant('POST', `${path}?project=mine`, sent);
  if (answer.status !== 202) return { status: answer.status, err: answer.metadata.message, heard: '' };
  const operation = answer.body.operation as string;
  const [url = ''] = operation.split('?');
  const secrets = answer.metadata.metadata as Record<string, string>;
  const open = async (channel: string): Promise<Channel> =>
    (await connect(host, `${url}/websocket?secret=${secrets[channel]}`)) as Channel;
  const [control, fs] = [await open('control'), await open('fs')];
  control.socket.send(Buffer.from(JSON.stringify(offer)));
  let isOver = false;
  const ended = host.admin.wait(operation).finally(() => (isOver = true));
  await until(() => isOver || /"answer"|"error"/.test(control.heard()));
  for (const stream of isOver ? [] : streams) {
    fs.socket.send(stream);
    fs.socket.send(Buffer.alloc(0), { binary: false });
  }
  if (!isOver) control.socket.send(Buffer.from(JSON.stringify({ type: 'sent' })));
  const { err } = await ended;
  for (const { socket } of [control, fs]) socket.terminate();
  return { status: 202, err, heard: control.heard() };
}

/** Requests that an existing container, or what `path` names, is brought up to date, and sends what differs. */
export const refreshAs = (suite: SharedHostSuite, name: string, sent: Omit<Sent, 'body'>): Promise<Met> =>
  sendTo(suite, name, { ...sent, body: { source: { type: 'migration', mode: 'push', refresh: true } } });
