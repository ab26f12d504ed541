// Runs commands in containers and attaches to consoles: starts the operation, carries the streams over its channels, returns the exit
// code.
import { containerPath } from '../../api/names.ts';
import type { Readable, Writable } from 'node:stream';
import type { ConsolePost, ExecPost } from '../../api/container/container-exec.ts';
import type { Operation } from '../../api/operation.ts';
import { ClientError } from '../client-error.ts';
import { ClientChannel } from './channel.ts';
import type { Http } from '../transport/http.ts';
import type { Operations } from '../operations.ts';
import { isObject } from '../transport/reply.ts';
import type { Transport } from '../transport/transport.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ExecOptions {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly user?: number;
  readonly group?: number;
  readonly cwd?: string;
  /** A size makes one terminal, whose output all goes to `stdout`. Absent: three pipes. */
  readonly terminal?: TerminalSize;
  /** Read until its end, or the command's. Absent: the command gets empty input. */
  readonly stdin?: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

export interface ExecSession {
  /** The exit code (126 and 127: the command could not be run; 128+n: signal n ended it), once all output was written. */
  readonly exited: Promise<number>;
  readonly outputBytes: () => number;
  resize(size: TerminalSize): void;
  signal(number: number): void;
  close(): void;
}

export interface ConsoleOptions {
  readonly size?: TerminalSize;
  readonly stdin: Readable;
  readonly stdout: Writable;
}

export interface ConsoleSession {
  /** Resolves when the console has ended: by `close`, or because the container stopped. */
  readonly ended: Promise<void>;
  resize(size: TerminalSize): void;
  close(): void;
}

interface ExecDeps {
  readonly http: Http;
  readonly operations: Pick<Operations, 'wait'>;
  readonly transport: Pick<Transport, 'openSocket'>;
}

/** `signal` ends the session as `close` does; `exited` then rejects with its reason. */
export async function startExec(
  deps: ExecDeps,
  name: string,
  options: ExecOptions,
  signal?: AbortSignal,
): Promise<ExecSession> {
  const { command, environment, user, group, cwd, terminal } = options;
  const body: ExecPost = {
    command: [...command],
    'wait-for-websocket': true,
    interactive: terminal !== undefined,
    environment: { ...environment },
    ...(terminal === undefined ? {} : { width: terminal.columns, height: terminal.rows }),
    ...withoutUndefined({ user, group, cwd }),
  };
  const session = await open(deps, `${containerPath(name)}/exec`, body, signal);
  const outputs =
    terminal === undefined
      ? [session.channel('1').writeTo(options.stdout), session.channel('2').writeTo(options.stderr)]
      : [session.channel('0').writeTo(options.stdout)];
  const input = session.channel('0');
  input.readFrom(options.stdin, { isTerminal: terminal !== undefined });
  const finish = async (): Promise<number> => {
    try {
      await Promise.all(outputs);
      // A terminal's server waits for this: everything has arrived.
      if (terminal !== undefined) input.close();
      const code = exitCodeOf(await session.operation);
      signal?.throwIfAborted();
      return code;
    } catch (error) {
      const code = signal?.aborted === true ? undefined : returnedBy(error);
      if (code !== undefined) return code;
      throw signal?.aborted === true ? signal.reason : error;
    } finally {
      session.close();
    }
  };
  const outputNames = terminal === undefined ? ['1', '2'] : ['0'];
  const outputBytes = (): number => outputNames.reduce((sum, each) => sum + session.channel(each).receivedBytes, 0);
  return { exited: finish(), outputBytes, resize: session.resize, signal: session.signal, close: session.close };
}

export async function startConsole(
  deps: ExecDeps,
  name: string,
  options: ConsoleOptions,
  signal?: AbortSignal,
): Promise<ConsoleSession> {
  const { size } = options;
  const body: ConsolePost = size === undefined ? {} : { width: size.columns, height: size.rows };
  const session = await open(deps, `${containerPath(name)}/console`, body, signal);
  const channel = session.channel('0');
  channel.readFrom(options.stdin);
  let isLeft = false;
  const finish = async (): Promise<void> => {
    try {
      await channel.writeTo(options.stdout);
    } finally {
      session.close();
    }
    await session.operation.catch((error: unknown) => {
      // LXD may fail the operation of a console that its client has left: it writes to the terminal that it closed.
      if (!isLeft) throw error;
    });
  };
  const close = (): void => {
    isLeft = true;
    session.close();
  };
  return { ended: finish(), resize: session.resize, close };
}

interface OpenSession {
  readonly operation: Promise<Operation>;
  channel(name: string): ClientChannel;
  readonly resize: (this: void, size: TerminalSize) => void;
  readonly signal: (this: void, number: number) => void;
  readonly close: (this: void) => void;
}

async function open(
  deps: ExecDeps,
  path: string,
  body: ExecPost | ConsolePost,
  signal: AbortSignal | undefined,
): Promise<OpenSession> {
  const { operation: started } = await deps.http.send<unknown>({ method: 'POST', path, json: body }, signal);
  const fds = started?.metadata?.['fds'];
  if (started === undefined || !isObject(fds)) {
    throw new ClientError('badReply', `POST ${path}: the answer is no operation with channels`);
  }
  const operation = deps.operations.wait(started);
  // The later waiter gets the error; until then the rejection must not be unhandled.
  operation.catch(() => {});
  const channels = new Map<string, ClientChannel>();
  const close = (): void => {
    for (const channel of channels.values()) channel.close();
  };
  try {
    // The control channel first: opening the others starts the command, and a short one ends at once.
    const names = Object.keys(fds).toSorted((a) => (a === 'control' ? -1 : 1));
    for (const name of names.splice(0, 1)) channels.set(name, await connect(deps, started.id, fds[name], signal));
    const opened = await Promise.allSettled(
      names.map(async (name) => channels.set(name, await connect(deps, started.id, fds[name], signal))),
    );
    // All have ended, so that one that opened after another was refused is closed, too.
    for (const each of opened) if (each.status === 'rejected') throw each.reason;
  } catch (error) {
    close();
    if (!(error instanceof ClientError) || ![400, 404].includes(error.status)) throw error;
    // A failed operation accepts no connections: the user needs its error, not this one.
    await operation;
    throw error.withMessage(`It ended before all of its channels were connected (${path})`, 'operationLost');
  }
  signal?.addEventListener('abort', close, { once: true });
  const control = (message: object): void => channels.get('control')?.sendText(JSON.stringify(message));
  return {
    operation: operation.finally(() => signal?.removeEventListener('abort', close)),
    channel: (name) => {
      const channel = channels.get(name);
      if (channel === undefined)
        throw new ClientError('badReply', `POST ${path}: the operation has no channel ${name}`);
      return channel;
    },
    resize: ({ columns, rows }) =>
      control({ command: 'window-resize', args: { width: String(columns), height: String(rows) } }),
    signal: (number) => control({ command: 'signal', signal: number }),
    close,
  };
}

function connect(
  deps: ExecDeps,
  operation: string,
  secret: unknown,
  signal: AbortSignal | undefined,
): Promise<ClientChannel> {
  const query = new URLSearchParams({ secret: String(secret) });
  const path = `/1.0/operations/${encodeURIComponent(operation)}/websocket`;
  return ClientChannel.open(deps.transport.openSocket(`${path}?${query.toString()}`), path, signal);
}

function exitCodeOf(operation: Operation): number {
  const code = operation.metadata?.['return'];
  if (typeof code !== 'number') throw new ClientError('badReply', 'The operation has ended without an exit code');
  return code;
}

/** Newer LXD releases fail the operation if the command could not be run, and still return the exit code. */
function returnedBy(error: unknown): number | undefined {
  const code = error instanceof ClientError ? error.operation?.metadata?.['return'] : undefined;
  return code === 126 || code === 127 ? code : undefined;
}
