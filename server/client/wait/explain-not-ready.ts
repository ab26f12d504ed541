// Collects facts about a container that did not become ready: its state, its leases, its last output. Never fails.
import { containerPath } from '../../api/names.ts';
import type { Readable } from 'node:stream';
import type { ContainerState } from '../../api/container/container.ts';
import { isNic } from '../../api/devices/nic.ts';
import { statusCodes } from '../../api/status.ts';
import { within } from '../../lib/shared/deadline.ts';
import { lastLines } from './last-lines.ts';
import type { WaitDeps } from './wait-deps.ts';

const limitMs = 5000;
const linesShown = 5;
const keptBytes = 16 * 1024;

/** Further lines after the state, each with its heading; empty if nothing is known. */
export async function diagnosticLines(
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
