// Starts, stops, restarts containers and waits until they are ready; says what is there when they do not get ready.
import type { ContainerState as LiveState, ContainerStatePut } from '../../server/api/container.ts';
import { ClientError } from '../../server/client/client-error.ts';
import type { Link } from '../connection/link.ts';
import { DiagnosticError, failure, warning } from '../framework/diagnostic.ts';
import { parseDuration } from '../framework/duration.ts';
import type { Context } from '../framework/provider.ts';
import type { WaitFor } from './container-attributes.ts';
import { interfacesOf, isUp } from './container-state.ts';
import { runCommand } from './run-command.ts';
import { pause, perform } from './write.ts';

/** Both kinds of servers say so in words only. */
const alreadySo = (error: unknown): boolean =>
  error instanceof ClientError && /\b(already (running|stopped)|is (not running|already))\b/i.test(error.message);

async function act(context: Context<Link>, name: string, body: ContainerStatePut): Promise<void> {
  try {
    await perform(context, () => context.client.client.putContainerState(name, body, context.signal));
  } catch (error) {
    if (!alreadySo(error) || body.action === 'restart') throw error;
  }
}

export const startContainer = (context: Context<Link>, name: string): Promise<void> =>
  act(context, name, { action: 'start' });

/** Cleanly within the time it has, then by force. */
export async function stopContainer(context: Context<Link>, name: string, timeoutSeconds: number): Promise<void> {
  if (timeoutSeconds > 0) {
    try {
      await act(context, name, { action: 'stop', timeout: timeoutSeconds });
      return;
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof ClientError) || error.code !== 'operationFailed') throw error;
    }
  }
  await act(context, name, { action: 'stop', force: true });
}

/** In order. When the user wants to stop, waiting ends with a warning: what was made is made. */
export async function waitForAll(context: Context<Link>, name: string, conditions: readonly WaitFor[]): Promise<void> {
  for (const condition of conditions) {
    try {
      await waitFor(context, name, condition);
    } catch (error) {
      if (!context.stopping.aborted || context.signal.aborted) throw error;
      const detail = `The container ${name} was not waited for to the end, since the run was interrupted.`;
      context.warn(warning(`${name} may not be ready yet`, detail));
      return;
    }
  }
}

const firstPauseMs = 50;
const longestPauseMs = 1000;

async function waitFor(context: Context<Link>, name: string, condition: WaitFor): Promise<void> {
  const limitMs = parseDuration(condition.timeout ?? '60s') ?? 60_000;
  const endMs = Date.now() + limitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const { metadata: state } = await context.client.client.containerState(name, context.signal);
    if (await holds(context, name, condition, state)) return;
    const isOver = Date.now() >= endMs;
    if (!isUp(state.status) || isOver) {
      const why = isOver ? `did not come in ${condition.timeout ?? '60s'}` : 'did not come: it stopped';
      const detail = `Waited for ${told(condition)}, which ${why}. Now: ${describe(state)}. Look into the container, or give it longer in wait_for.`;
      throw new DiagnosticError([failure(`The container ${name} did not get ready`, detail)]);
    }
    await pause(Math.min(pauseMs, Math.max(1, endMs - Date.now())), context.signal, context.stopping);
  }
}

async function holds(context: Context<Link>, name: string, condition: WaitFor, state: LiveState): Promise<boolean> {
  if (state.status !== 'Running') return false;
  if (condition.type === 'running') return true;
  if (condition.type === 'command') {
    const ran = await runCommand(context, name, { command: condition.command ?? ['true'] });
    return ran.exitCode === 0;
  }
  const all = interfacesOf(state);
  const found = condition.nic === null ? Object.values(all) : [all[condition.nic]];
  return found.some(
    (each) => (condition.type === 'ipv4' ? each?.ipv4_addresses : each?.ipv6_addresses)?.[0] !== undefined,
  );
}

const told = ({ type, nic, command }: WaitFor): string =>
  type === 'running'
    ? 'the running state'
    : type === 'command'
      ? `the command ${(command ?? []).join(' ')} to succeed`
      : `an ${type === 'ipv4' ? 'IPv4' : 'IPv6'} address${nic === null ? '' : ` on ${nic}`}`;

function describe(state: LiveState): string {
  const nics = Object.entries(interfacesOf(state)).map(([name, { ipv4_addresses: v4, ipv6_addresses: v6 }]) => {
    const addresses = [...v4, ...v6];
    return `${name} ${addresses.length === 0 ? 'without an address' : `with ${addresses.join(', ')}`}`;
  });
  const interfaces = nics.length > 0 ? nics : ['no interfaces'];
  return [state.status, `${state.processes} processes`, ...interfaces].join(', ');
}
