// Starts, stops, restarts containers and waits until they are ready; says what is there when they do not get ready.
import type { ContainerStatePut } from '../../server/api/container.ts';
import type { WaitCondition } from '../../server/api/wait-condition.ts';
import { ClientError } from '../../server/client/client-error.ts';
import { pause } from '../../server/client/deadline.ts';
import { NotReadyError } from '../../server/client/readiness.ts';
import { waitFor } from '../../server/client/wait.ts';
import type { Link } from '../connection/link.ts';
import { DiagnosticError, failure, warning } from '../framework/diagnostic.ts';
import { parseDuration } from '../framework/duration.ts';
import type { Context } from '../framework/provider.ts';
import type { WaitFor } from './container-attributes.ts';
import { said } from './maps.ts';
import { perform } from './write.ts';

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
      await waitForOne(context, name, condition);
    } catch (error) {
      if (!context.stopping.aborted || context.signal.aborted) throw error;
      const detail = `The container ${name} was not waited for to the end, since the run was interrupted.`;
      context.warn(warning(`${name} may not be ready yet`, detail));
      return;
    }
  }
}

async function waitForOne(context: Context<Link>, name: string, wait: WaitFor): Promise<void> {
  const signal = AbortSignal.any([context.signal, context.stopping]);
  const deps = { client: context.client.client, nowMs: Date.now, pause, onProgress: () => {} };
  try {
    await waitFor(deps, name, conditionOf(wait), signal);
  } catch (error) {
    if (!(error instanceof NotReadyError)) throw error;
    const detail = `${error.message}\nLook into the container, or give it longer in wait_for.`;
    throw new DiagnosticError([failure(`The container ${name} did not get ready`, detail)]);
  }
}

/** What the configuration gives was validated; the rest of it is null. */
function conditionOf({ type, nic: givenNic, command, port, host: givenHost, path, timeout }: WaitFor): WaitCondition {
  const [nic, host] = [said(givenNic), said(givenHost)];
  const timeoutMs = parseDuration(timeout ?? '') ?? 60_000;
  switch (type) {
    case 'ipv4':
    case 'ipv6':
      return { type, timeoutMs, ...(nic === null ? {} : { nic }) };
    case 'command':
      return { type: 'exec', timeoutMs, command: command ?? ['true'] };
    case 'tcp':
      return { type, timeoutMs, port: port ?? 0, ...(host === null ? {} : { host }) };
    case 'file':
      return { type, timeoutMs, path: path ?? '/' };
    case 'cloud-init':
      return { type, timeoutMs };
    default:
      return { type: 'running', timeoutMs };
  }
}
