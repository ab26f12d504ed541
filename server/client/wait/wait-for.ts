// Waits until a container meets a condition; otherwise throws an error that describes the container.
import type { Readable } from 'node:stream';
import type { LifecycleMetadata } from '../../api/event.ts';
import { statusCodes } from '../../api/status.ts';
import type { WaitCondition } from '../../api/container/wait-condition.ts';
import { DeadlineError, within } from '../../lib/shared/deadline.ts';
import { describeState } from './describe-state.ts';
import { look, NotReadyError, type Sight } from './readiness.ts';
import type { WaitDeps } from './wait-deps.ts';
import { containerPath } from '../../api/names.ts';
import type { ContainerState } from '../../api/container/container.ts';
import { isNic } from '../../api/devices/nic.ts';
import { lastLines } from './last-lines.ts';

export { type WaitDeps } from './wait-deps.ts';

const firstPauseMs = 100;
const longestPauseMs = 1000;

/** Events of the container shorten the pauses; conditions without an event (an address, a port) are polled. Throws NotReadyError with
 *  state, leases and the container's last output on a timeout, and at once if the condition can never be met. */
export async function waitFor(
  context: WaitDeps,
  name: string,
  condition: WaitCondition,
  signal: AbortSignal,
): Promise<void> {
  const endMs = context.nowMs() + condition.timeoutMs;
  const over = new AbortController();
  let news: News | undefined;
  let instead: string | undefined;
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const { metadata: state } = await context.client.containerState(name, signal);
      const isStopped = state.status_code === statusCodes.stopped || state.status_code === statusCodes.error;
      const sight = isStopped
        ? unseen
        : await lookFor(context, { name, condition }, state, endMs - context.nowMs(), signal);
      if (sight.holds) return;
      // Its earlier output explains more than the interruption.
      instead = sight.instead === unanswered ? (instead ?? unanswered) : sight.instead;
      const now = [describeState(state), ...(instead === undefined ? [] : [instead])].join('; ');
      const leftMs = endMs - context.nowMs();
      if (isStopped || leftMs <= 0) {
        const why = isStopped
          ? 'it stopped instead of getting ready'
          : `${wanted(condition)} did not come in ${condition.timeoutMs / 1000} s`;
        throw new NotReadyError(`${why}: ${now}${await diagnosticLines(context, name, state, signal)}`);
      }
      context.onProgress(`waiting for ${wanted(condition)}: ${now}`);
      news ??= newsOf(context, name, over.signal);
      await Promise.race([context.pause(Math.min(pauseMs, leftMs), signal), news.next()]);
    }
  } finally {
    over.abort();
  }
}

const unseen: Sight = { holds: false };
const unanswered = 'no answer yet';

/** A command that does not end gets the remaining time. */
async function lookFor(
  context: WaitDeps,
  { name, condition }: { readonly name: string; readonly condition: WaitCondition },
  state: Parameters<typeof look>[3],
  leftMs: number,
  signal: AbortSignal,
): Promise<Sight> {
  try {
    return await within(
      Math.max(firstPauseMs, leftMs),
      (inner) => look(context, name, condition, state, inner),
      signal,
    );
  } catch (error) {
    if (error instanceof DeadlineError) return { holds: false, instead: unanswered };
    if (!(error instanceof NotReadyError)) throw error;
    const more = await diagnosticLines(context, name, state, signal);
    throw new NotReadyError(`${error.message}: ${describeState(state)}${more}`);
  }
}

interface News {
  /** Resolves with the next event about the container since the last call. */
  next(): Promise<void>;
}

/** Runs until `signal` aborts. A server without events is only polled. */
function newsOf(context: WaitDeps, name: string, signal: AbortSignal): News {
  let isNew = false;
  let wake = (): void => {};
  const notify = (): void => {
    isNew = true;
    wake();
  };
  const follow = async (): Promise<void> => {
    for await (const { metadata } of context.client.events(['lifecycle'], signal, { onReady: notify })) {
      if (isPowerOf(name, metadata as Partial<LifecycleMetadata> | null)) notify();
    }
  };
  follow().catch(() => undefined);
  return {
    next: () =>
      new Promise((resolve) => {
        wake = (): void => {
          isNew = false;
          resolve();
        };
        if (isNew) wake();
      }),
  };
}

/** Excludes commands and files of the wait itself: it would never pause. */
const isPowerOf = (name: string, event: Partial<LifecycleMetadata> | null): boolean =>
  /-(started|stopped|shutdown|restarted|paused|resumed|deleted)$/.test(event?.action ?? '') &&
  [`/1.0/containers/${name}`, `/1.0/instances/${name}`].includes(event?.source?.split('?')[0] ?? '');

function wanted(condition: WaitCondition): string {
  switch (condition.type) {
    case 'running':
      return 'the running state';
    case 'ipv4':
    case 'ipv6': {
      const family = condition.type === 'ipv4' ? 'IPv4' : 'IPv6';
      return `an ${family} address${condition.nic === undefined ? '' : ` on ${condition.nic}`}`;
    }
    case 'exec':
      return `the success of ${condition.command.join(' ')}`;
    case 'tcp':
      return `an answer at ${condition.host === undefined ? '' : `${condition.host} `}port ${condition.port}`;
    case 'file':
      return `the file ${condition.path}`;
    case 'cloud-init':
      return 'the end of cloud-init';
    default:
      return condition satisfies never;
  }
}

/** Collects facts about a container that did not become ready: its state, its leases, its last output. Never fails. */
const limitMs = 5000;
const linesShown = 5;
const keptBytes = 16 * 1024;

/** Further lines after the state, each with its heading; empty if nothing is known. */
async function diagnosticLines(
  context: WaitDeps,
  name: string,
  state: ContainerState,
  signal: AbortSignal,
): Promise<string> {
  const asking = [
    (inner: AbortSignal) => leases(context, name, state, inner),
    (inner: AbortSignal) => said(context, name, 'console', 'console', inner),
    (inner: AbortSignal) => said(context, name, 'logs/lxc.log', 'log', inner),
  ];
  // The user needs the reason; a failure to collect these facts must not replace it.
  const found = await Promise.all(asking.map((ask) => within(limitMs, ask, signal).catch(() => [])));
  return found
    .flat()
    .map((line) => `\n  ${line}`)
    .join('');
}

async function leases(
  context: WaitDeps,
  name: string,
  state: ContainerState,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (state.status_code !== statusCodes.running) return [];
  const { metadata: container } = await context.client.get('container', name, signal);
  const nics = Object.values(container.expanded_devices ?? {}).filter(isNic);
  const networks = new Set(nics.flatMap((nic) => nic['network'] ?? nic['parent'] ?? []));
  const sections = await Promise.all(
    [...networks].map(async (network) => {
      // Bridges that the server does not manage have no leases.
      const all = await context.client.networkLeases(network, signal).catch(() => undefined);
      const own = all?.filter(({ hostname }) => hostname === name).map(({ address }) => address);
      return own === undefined ? [] : [`leases on ${network}: ${own.length === 0 ? 'none' : own.join(', ')}`];
    }),
  );
  return sections.flat();
}

async function said(
  context: WaitDeps,
  name: string,
  file: string,
  heading: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const path = `${containerPath(name)}/${file}`;
  const { body } = await context.client.http.open({ method: 'GET', path }, signal);
  return lastLines(await endOf(body), linesShown).map((line) => `${heading}: ${line}`);
}

async function endOf(body: Readable): Promise<string> {
  let kept = Buffer.alloc(0);
  for await (const chunk of body as AsyncIterable<Buffer>) kept = Buffer.concat([kept, chunk]).subarray(-keptBytes);
  return kept.toString('utf8');
}
