// Starts, stops, restarts containers and waits until they are ready; on a timeout reports their state.
import type { Container, ContainerStatePut } from '../../../server/api/container/container.ts';
import type { WaitCondition } from '../../../server/api/container/wait-condition.ts';
import { isNic } from '../../../server/api/devices/index.ts';
import { ClientError, isNotFound, isRefused } from '../../../server/client/client-error.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { NotReadyError } from '../../../server/client/wait/readiness.ts';
import { waitFor } from '../../../server/client/wait/wait-for.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure, warning } from '../../framework/diagnostic.ts';
import { parseDuration } from '../../framework/duration.ts';
import type { Context } from '../../framework/object-type.ts';
import type { WaitFor } from './container-attributes.ts';
import { isFrozen } from './container-state.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { perform } from '../shared/write.ts';

async function changeState(context: Context<Link>, name: string, body: ContainerStatePut): Promise<void> {
  try {
    await perform(context, () => context.client.client.putContainerState(name, body, context.signal));
  } catch (error) {
    if (!isRefused(error, 'alreadySo') || body.action === 'restart') throw error;
  }
}

export const startContainer = (context: Context<Link>, name: string): Promise<void> =>
  changeState(context, name, { action: 'start' });

export const thawContainer = (context: Context<Link>, name: string): Promise<void> =>
  changeState(context, name, { action: 'unfreeze' });

type EndContainer = (
  context: Context<Link>,
  container: Pick<Container, 'name' | 'status'>,
  timeoutSeconds: number,
) => Promise<void>;

/** Stops cleanly within the time limit, then by force. */
export const stopContainer: EndContainer = (...args) => endContainer('stop', ...args);

/** Restarts in one request, which an ephemeral container survives: the server deletes it when it stops. Cleanly, then by force. */
export const restartContainer: EndContainer = (...args) => endContainer('restart', ...args);

/** A frozen container cannot shut down, so it is thawed first. */
async function endContainer(
  action: 'stop' | 'restart',
  ...[context, { name, status }, timeoutSeconds]: Parameters<EndContainer>
): Promise<void> {
  if (isFrozen(status)) await thawContainer(context, name);
  if (timeoutSeconds > 0) {
    try {
      await changeState(context, name, { action, timeout: timeoutSeconds });
      return;
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof ClientError) || error.code !== 'operationFailed') throw error;
    }
  }
  await changeState(context, name, { action, force: true });
}

/** Waits in order. When the user wants to stop, waiting ends with a warning: the container exists anyway. */
export async function waitForAll(context: Context<Link>, name: string, conditions: readonly WaitFor[]): Promise<void> {
  for (const condition of conditions) {
    try {
      await waitForOne(context, name, condition);
    } catch (error) {
      if (!context.stopping.aborted || context.signal.aborted) throw error;
      const detail = `The run was interrupted before the container ${name} was ready.`;
      context.warn(warning(`${name} may not be ready yet`, detail));
      return;
    }
  }
}

/** DHCP answers a moment after the start; without `wait_for` a start waits at most this long. */
const addressWaitMs = 10_000;

/** If the network of the container assigns IPv4 addresses, waits for the first one, at most until the time limit. */
export async function awaitAddress(context: Context<Link>, name: string): Promise<void> {
  const { client } = context.client;
  const { metadata } = await client.get('container', name, context.signal);
  const nics = Object.values(metadata.expanded_devices ?? {}).filter(isNic);
  const networks = new Set(nics.flatMap(({ network, parent }) => network ?? parent ?? []));
  for (const network of networks) {
    if (!(await givesAddresses(context, network))) continue;
    const signal = AbortSignal.any([context.signal, context.stopping]);
    const deps = { client, nowMs: Date.now, pause, onProgress: () => {} };
    try {
      await waitFor(deps, name, { type: 'ipv4', timeoutMs: addressWaitMs }, signal);
    } catch (error) {
      if (!(error instanceof NotReadyError) && !context.stopping.aborted) throw error;
    }
    return;
  }
}

async function givesAddresses({ client, signal }: Context<Link>, network: string): Promise<boolean> {
  try {
    const { managed, config } = (await client.client.get('network', network, signal)).metadata;
    return (
      managed &&
      !['', 'none'].includes(config['ipv4.address'] ?? '') &&
      !/^(false|0|no|off)$/i.test(config['ipv4.dhcp'] ?? '')
    );
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function waitForOne(context: Context<Link>, name: string, wait: WaitFor): Promise<void> {
  const signal = AbortSignal.any([context.signal, context.stopping]);
  if (wait.type === 'delay') return pause(parseDuration(wait.delay ?? '') ?? 0, signal);
  const deps = { client: context.client.client, nowMs: Date.now, pause, onProgress: () => {} };
  try {
    await waitFor(deps, name, conditionOf(wait), signal);
  } catch (error) {
    if (!(error instanceof NotReadyError)) throw error;
    const detail = `${error.message}\nInspect the container, or raise the timeout in wait_for.`;
    throw new DiagnosticError([failure(`The container ${name} did not become ready`, detail)]);
  }
}

/** The configured members are validated; the others are null. */
function conditionOf({ type, nic: givenNic, command, port, host: givenHost, path, timeout }: WaitFor): WaitCondition {
  const [nic, host] = [nonEmpty(givenNic), nonEmpty(givenHost)];
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
