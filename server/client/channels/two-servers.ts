// Connects a migration of two servers: who connects to whom, the streams that this program relays, and the wait for both operations.
import type { Operation } from '../../api/operation.ts';
import type { Client } from '../client.ts';
import { ClientError } from '../client-error.ts';
import type { OnUpdate } from '../operations.ts';
import { relaySockets } from './relay-channels.ts';

/** `pull`: the target connects to the source. `push`: the source connects to the target. `relay`: this program connects to both. */
export const migrationModes = ['pull', 'push', 'relay'] as const;
export type MigrationMode = (typeof migrationModes)[number];

/** One end of a migration: the server, and the request that starts the operation there. `peer`: the fields that describe the other end. */
export interface Source {
  readonly client: Client;
  readonly start: (peer: object) => Promise<Operation>;
}
export interface Target {
  readonly client: Client;
  readonly start: (mode: 'pull' | 'push', peer: object) => Promise<Operation>;
}

interface Travel {
  readonly from: Source;
  readonly to: Target;
  /** Gets the updates of the source: the target reports the same bytes. */
  readonly onUpdate: OnUpdate | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Resolves when both operations have ended well. `mode` default: pull from a source with an https address, else push to such a target, else relay. */
export const migrate = (way: Travel, mode = usualMode(way.from.client, way.to.client)): Promise<void> =>
  travel[mode](way);

function usualMode(from: Client, to: Client): MigrationMode {
  if (from.host.startsWith('https:')) return 'pull';
  return to.host.startsWith('https:') ? 'push' : 'relay';
}

const travel: Readonly<Record<MigrationMode, (travel: Travel) => Promise<void>>> = {
  async pull({ from, to, onUpdate, signal }) {
    const source = await from.start({});
    await waitForBoth([from.client, onUpdate], source, [to.client], signal, async () =>
      to.start('pull', await addressOf(from.client, source, signal)),
    );
  },
  async push({ from, to, onUpdate, signal }) {
    const target = await to.start('push', {});
    await waitForBoth([to.client], target, [from.client, onUpdate], signal, async () =>
      from.start({ target: await addressOf(to.client, target, signal) }),
    );
  },
  async relay({ from, to, onUpdate, signal }) {
    const source = await from.start({});
    let stop = (): void => {};
    try {
      await waitForBoth([from.client, onUpdate], source, [to.client], signal, async () => {
        const target = await to.start('push', {});
        const end = (operation: Operation, client: Client) => ({
          open: (name: string) => client.openSocket(socketPath(operation, name)),
          names: Object.keys(operation.metadata ?? {}),
        });
        stop = await relaySockets(end(source, from.client), end(target, to.client), signal);
        return target;
      });
    } finally {
      stop();
    }
  },
};

type Watched = readonly [client: Client, onUpdate?: OnUpdate | undefined];

/** Waits for both operations; if one fails the other is cancelled. Throws the first failure. */
async function waitForBoth(
  [first, onFirst]: Watched,
  started: Operation,
  [second, onSecond]: Watched,
  signal: AbortSignal | undefined,
  begin: () => Promise<Operation>,
): Promise<void> {
  let other: Operation | undefined;
  const waits: Promise<unknown>[] = [first.operations.wait(started, signal, onFirst)];
  waits[0]?.catch(() => {});
  try {
    other = await begin();
    waits.push(second.operations.wait(other, signal, onSecond));
    await Promise.all(waits);
  } catch (error) {
    await Promise.all([abandon(first, started), ...(other === undefined ? [] : [abandon(second, other)])]);
    // Both operations have ended when this returns. The caller's signal no longer applies.
    await Promise.allSettled(waits);
    throw error;
  }
}

async function abandon(client: Client, operation: Operation): Promise<void> {
  // It has ended already, or its server is unreachable.
  await client.operations.cancel(operation.id).catch(() => {});
}

export function operationOf(reply: { readonly operation?: Operation }, path: string): Operation {
  if (reply.operation !== undefined) return reply.operation;
  throw new ClientError('badReply', `POST ${path}: the answer is no operation`);
}

async function addressOf(client: Client, operation: Operation, signal: AbortSignal | undefined): Promise<object> {
  const { environment } = (await client.server(signal)).metadata;
  const address = environment?.addresses[0];
  const base = client.host.startsWith('https:')
    ? client.host
    : address === undefined
      ? undefined
      : `https://${address}`;
  if (base === undefined)
    throw new ClientError(
      'unreachable',
      `${client.host} listens on no network address that the other server could connect to: set its core.https_address, or use the mode relay`,
    );
  const { metadata } = operation;
  return {
    operation: `${base}/1.0/operations/${operation.id}`,
    certificate: environment?.certificate ?? '',
    secrets: metadata,
    websockets: metadata,
  };
}

function socketPath(operation: Operation, name: string): string {
  const query = new URLSearchParams({ secret: String(operation.metadata?.[name]) });
  return `/1.0/operations/${encodeURIComponent(operation.id)}/websocket?${query.toString()}`;
}
