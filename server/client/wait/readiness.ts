// Checks once whether a wait condition is met, and otherwise returns what it found. Waits only for the answer.
import { connect } from 'node:net';
import type { ContainerState } from '../../api/container/container.ts';
import { statusCodes } from '../../api/status.ts';
import { ClientError, isNotFound } from '../client-error.ts';
import { filesOf } from '../files/container-files.ts';
import type { WaitCondition } from '../../api/container/wait-condition.ts';
import { globalAddresses } from './describe-state.ts';
import { discard } from '../files/file-helpers.ts';
import type { WaitDeps } from './wait-deps.ts';
import { Tail } from './last-lines.ts';
import { joinHostPort } from '../../lib/shared/net/host-port.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** The condition was not met in time; the message shows the current state. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

export interface Sight {
  readonly holds: boolean;
  /** The finding, if it is more than the container's state. */
  readonly instead?: string;
}

const yes: Sight = { holds: true };
const no = (instead?: string): Sight => ({ holds: false, ...withoutUndefined({ instead }) });

/** Throws NotReadyError if it can never be met; other errors only if repeating the check is useless. */
export async function look(
  context: WaitDeps,
  name: string,
  condition: WaitCondition,
  state: ContainerState,
  signal: AbortSignal,
): Promise<Sight> {
  if (state.status_code !== statusCodes.running) return no();
  try {
    return await lookInto(context, name, condition, state, signal);
  } catch (error) {
    signal.throwIfAborted();
    // It may stop, freeze or restart at any moment; its state has the current value.
    if (!(error instanceof ClientError) || error.status === 403) throw error;
    return no(error.message);
  }
}

async function lookInto(
  context: WaitDeps,
  name: string,
  condition: WaitCondition,
  state: ContainerState,
  signal: AbortSignal,
): Promise<Sight> {
  switch (condition.type) {
    case 'running':
      return yes;
    case 'ipv4':
    case 'ipv6': {
      const family = condition.type === 'ipv4' ? 'inet' : 'inet6';
      return globalAddresses(state, condition.nic).some((one) => one.family === family) ? yes : no();
    }
    case 'tcp':
      return reach(condition.host ?? firstAddress(state), condition.port, signal);
    case 'file':
      return (await exists(context, name, condition.path, signal)) ? yes : no();
    case 'exec': {
      const { code, output } = await run(context, name, condition.command, signal);
      return code === 0 ? yes : no(`it ended with code ${code}${output === '' ? '' : `: ${output}`}`);
    }
    case 'cloud-init':
      return judgeCloudInit(await run(context, name, ['cloud-init', 'status', '--wait'], signal));
    default:
      return condition satisfies never;
  }
}

interface CommandResult {
  readonly code: number;
  /** Its last line. */
  readonly output: string;
}

/** Code 2: done, with errors that it recovered from. */
export function judgeCloudInit({ code, output }: CommandResult): Sight {
  if (code === 0 || code === 2) return yes;
  if (code === 127) throw new NotReadyError('its image has no cloud-init to wait for');
  if (/\berror\b/.test(output)) throw new NotReadyError(`cloud-init failed: ${output}`);
  return no(`cloud-init status ended with code ${code}${output === '' ? '' : `: ${output}`}`);
}

async function run(
  context: WaitDeps,
  name: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<CommandResult> {
  const output = new Tail();
  const session = await context.client.exec(name, { command, stdout: output, stderr: output }, signal);
  return { code: await session.exited, output: output.lastLine() };
}

async function exists(context: WaitDeps, name: string, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    const entry = await filesOf(context.client.http, name).read(path, signal);
    discard(entry);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

const longestConnectMs = 3000;

/** A host that drops packets is retried, with a short limit for each attempt. */
function reach(host: string | undefined, port: number, signal: AbortSignal): Promise<Sight> {
  if (host === undefined) return Promise.resolve(no('it has no address to connect to'));
  const where = joinHostPort(host, port);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: longestConnectMs });
    const abort = (): void => end(() => reject(signal.reason as Error));
    const end = (outcome: () => void): void => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      outcome();
    };
    signal.addEventListener('abort', abort, { once: true });
    socket.once('connect', () => end(() => resolve(yes)));
    socket.once('timeout', () => end(() => resolve(no(`no answer from ${where}`))));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(() => resolve(no(`${where}: ${error.code ?? error.message}`))),
    );
  });
}

function firstAddress(state: ContainerState): string | undefined {
  const all = globalAddresses(state);
  return (all.find(({ family }) => family === 'inet') ?? all[0])?.address;
}
