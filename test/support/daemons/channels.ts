// Exchanges data with the channels of an operation frame by frame, and records every frame.
import { WebSocket } from 'ws';
import type { Operation } from '../../../server/api/operation.ts';
import type { Json, TestDaemon } from './daemon.ts';
import { until } from '../until.ts';

export interface SeenFrame {
  readonly kind: 'data' | 'text';
  readonly text: string;
}

export interface TestChannel {
  readonly socket: WebSocket;
  readonly frames: SeenFrame[];
  /** All data frames together. */
  data(): string;
  /** The empty text frame has arrived. */
  hasEnded(): boolean;
  /** undefined while it is open; 1006 without a close frame. */
  closeCode(): number | undefined;
  send(data: string | Buffer): void;
  barrier(): void;
}

const empty = Buffer.alloc(0);

export async function openChannel(
  daemon: Pick<TestDaemon, 'socketPath'>,
  operation: string,
  secret: string,
): Promise<TestChannel> {
  const socket = new WebSocket(`ws+unix://${daemon.socketPath}:${operation}/websocket?secret=${secret}`, {
    maxPayload: 64 * 1024 * 1024,
  });
  const frames: SeenFrame[] = [];
  let code: number | undefined;
  socket.on('message', (bytes: Buffer, isBinary) => {
    frames.push({ kind: isBinary ? 'data' : 'text', text: bytes.toString('latin1') });
  });
  socket.on('close', (given) => (code = given));
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  return {
    socket,
    frames,
    data: () =>
      frames
        .filter(({ kind }) => kind === 'data')
        .map(({ text }) => text)
        .join(''),
    hasEnded: () => frames.some(({ kind, text }) => kind === 'text' && text === ''),
    closeCode: () => code,
    send: (data) => socket.send(Buffer.from(data as string)),
    barrier: () => socket.send(empty, { binary: false }),
  };
}

/** The status and the code in the body of a refused upgrade. */
export function refusal(daemon: TestDaemon, path: string): Promise<{ readonly status: number; readonly body: Json }> {
  const socket = new WebSocket(`ws+unix://${daemon.socketPath}:${path}`);
  return new Promise((resolve, reject) => {
    socket.once('open', () => reject(new Error('the upgrade was not refused')));
    socket.once('error', () => {});
    socket.once('unexpected-response', (_request, response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
  });
}

type Executor = Pick<TestDaemon, 'socketPath' | 'call' | 'wait'>;

export interface Session {
  readonly operation: string;
  readonly fds: Readonly<Record<string, string>>;
  readonly channels: Readonly<Record<string, TestChannel>>;
  /** Its end. */
  readonly ended: Promise<Operation>;
}

/** Starts a command and connects to all its channels but those in `without`. */
export async function startExec(
  daemon: Executor,
  name: string,
  body: object,
  without: readonly string[] = [],
): Promise<Session> {
  const path = `/1.0/containers/${name}/exec`;
  return connectAll(daemon, await daemon.call('POST', path, { 'wait-for-websocket': true, ...body }), without);
}

export async function connectAll(
  daemon: Executor,
  answer: Awaited<ReturnType<TestDaemon['call']>>,
  without: readonly string[] = [],
): Promise<Session> {
  if (answer.status !== 202) throw new Error(`answered ${answer.status}: ${answer.bytes.toString()}`);
  const operation = answer.body.operation as string;
  const fds = answer.metadata.metadata.fds as Record<string, string>;
  const wanted = Object.entries(fds).filter(([channel]) => !without.includes(channel));
  const ended = daemon.wait(operation);
  ended.catch(() => {});
  // The control channel first: a quick command may end once its data channels are open.
  const channels: Record<string, TestChannel> = {};
  for (const [channel, secret] of wanted.toSorted(([a]) => (a === 'control' ? -1 : 1))) {
    channels[channel] = await openChannel(daemon, operation, secret);
  }
  return { operation, fds, channels, ended };
}

/** A channel that the session must have. */
export function channelOf(session: Session, name: string): TestChannel {
  const channel = session.channels[name];
  if (channel === undefined) throw new Error(`there is no channel ${name}`);
  return channel;
}

export const isGone = (channel: TestChannel): Promise<void> => until(() => channel.closeCode() !== undefined);
