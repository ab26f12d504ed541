// Copies containers between servers, or on one: instructs both sides, relays the streams if they cannot reach each other, and waits for
// both. A move is a copy whose original is deleted afterwards.
import { containerPath } from '../../api/names.ts';
import { randomBytes } from 'node:crypto';
import type { Container, ContainerSource } from '../../api/container/container.ts';
import { isRoot } from '../../api/devices/disk.ts';
import type { Operation } from '../../api/operation.ts';
import type { Client } from '../client.ts';
import { ClientError } from '../client-error.ts';
import type { OnUpdate } from '../operations.ts';
import { migrate, operationOf, type MigrationMode } from './two-servers.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export { migrationModes, type MigrationMode } from './two-servers.ts';

export interface CopyOptions {
  /** Default: pull from a source with an https address, else push to such a target, else relay. */
  readonly mode?: MigrationMode;
  /** Omits snapshots. */
  readonly containerOnly?: boolean;
  /** Brings an older copy up to date: only the differences are transferred. */
  readonly refresh?: boolean;
  /** Pool for the root disk at the target. */
  readonly storage?: string;
  /** False: the files of a running container are copied as they are; LXD would freeze it for that on some pools, and is asked not to.
   *  Otherwise the container continues to run at the target, and is stopped here. */
  readonly live?: boolean;
  /** The addresses of its interfaces are copied too: the target is the same machine. */
  readonly keepAddresses?: boolean;
  readonly devices?: Container['devices'];
  /** Config keys that the copy does not get. */
  readonly drops?: (key: string) => boolean;
  /** The cluster member to which a container moves. */
  readonly member?: string;
  readonly onUpdate?: OnUpdate;
}

export interface ContainerAt {
  readonly client: Client;
  /** For a source also `CONTAINER/SNAPSHOT`. */
  readonly name: string;
}

/** Resolves when the copy is complete. On a throw or abort both operations are cancelled. */
export async function copyContainer(
  from: ContainerAt,
  to: ContainerAt,
  options: CopyOptions = {},
  signal?: AbortSignal,
): Promise<void> {
  const source = await describe(from, signal);
  const isOtherHost = from.client.host !== to.client.host;
  const live = isOtherHost && isRunning(source) && options.refresh !== true && options.live !== false;
  // A container that continues to run keeps its addresses.
  const body = { name: to.name, ...wantedOf(source, live ? { ...options, keepAddresses: true } : options) };
  if (!isOtherHost) {
    const copy: ContainerSource = { type: 'copy', source: from.name, ...flagsOf(options) };
    await to.client.operations.run(
      () => to.client.create('container', { ...body, source: copy }, {}, signal),
      signal,
      options.onUpdate,
    );
    return;
  }
  const own = { ...options, live };
  const isChanging = options.live === false && isRunning(source);
  const how = isChanging && (await knows(from.client, inconsistentCopies, signal)) ? { allow_inconsistent: true } : {};
  await migrate(
    {
      from: { client: from.client, start: (peer) => startSource(from, { ...how, ...peer }, own, signal) },
      to: { client: to.client, start: (mode, peer) => startTarget(to, body, { mode, options: own, peer }, signal) },
      onUpdate: options.onUpdate,
      signal,
    },
    options.mode,
  );
}

/**
 * A running container continues to run at the target, when both servers support that. The error names the remains of the original after
 * a failed deletion.
 */
export async function moveContainer(
  from: ContainerAt,
  to: ContainerAt,
  options: CopyOptions = {},
  signal?: AbortSignal,
): Promise<void> {
  if (options.member !== undefined) {
    await moveThere(from, to.name, options, signal);
    return;
  }
  if (from.client.host === to.client.host && options.storage === undefined) {
    await from.client.operations.run(() => from.client.rename('container', from.name, to.name, signal), signal);
    return;
  }
  const { status } = (await from.client.get('container', from.name, signal)).metadata;
  if (status !== 'Stopped' && (options.live === false || from.client.host === to.client.host))
    throw new ClientError('running', `The container ${from.name} is ${status}: stop it before moving it`);
  if (from.client.host === to.client.host && (await knows(from.client, 'instance_pool_move', signal))) {
    await moveThere(from, to.name, options, signal);
    return;
  }
  // In another pool of the same server the copy gets its name after the original is deleted.
  const isHere = from.client.host === to.client.host && from.name === to.name;
  const copy = isHere ? { ...to, name: `move-of-${randomBytes(6).toString('hex')}` } : to;
  await copyContainer(from, copy, { ...options, keepAddresses: true }, signal);
  await from.client.operations.run(() => from.client.delete('container', from.name, signal), signal);
  if (isHere) await to.client.operations.run(() => to.client.rename('container', copy.name, to.name, signal), signal);
}

const inconsistentCopies = 'instance_allow_inconsistent_copy';

async function knows(client: Client, extension: string, signal: AbortSignal | undefined): Promise<boolean> {
  return (await client.server(signal)).metadata.api_extensions.includes(extension);
}

/** The server does it itself and atomically; the container keeps its identity. */
async function moveThere(
  { client, name }: ContainerAt,
  target: string,
  options: CopyOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  const pool = options.storage === undefined ? {} : { pool: options.storage };
  const json = { name: target, migration: true, live: false, ...pool, ...flagsOf(options) };
  const path = containerPath(name);
  const started = operationOf(
    await client.http.send({ method: 'POST', path, json, query: { target: options.member } }, signal),
    path,
  );
  await client.operations.wait(started, signal, options.onUpdate);
}

type SourceContainer = Pick<
  Container,
  'architecture' | 'config' | 'devices' | 'profiles' | 'ephemeral' | 'description' | 'expanded_devices'
> & { readonly status?: string };

const isRunning = ({ status }: SourceContainer): boolean => status !== undefined && status !== 'Stopped';

async function describe({ client, name }: ContainerAt, signal: AbortSignal | undefined): Promise<SourceContainer> {
  const slash = name.indexOf('/');
  if (slash < 0) return (await client.get('container', name, signal)).metadata;
  const [container, snapshot] = [name.slice(0, slash), name.slice(slash + 1)];
  const path = containerPath(container, 'snapshots', snapshot);
  return (await client.http.send<SourceContainer>({ method: 'GET', path }, signal)).metadata;
}

function wantedOf(source: SourceContainer, options: CopyOptions) {
  const { architecture, profiles, ephemeral, description } = source;
  const isDropped = (key: string): boolean => options.drops?.(key) === true;
  const kept = ([key]: readonly [string, string]): boolean =>
    !isDropped(key) &&
    (!key.startsWith('volatile.') ||
      key === 'volatile.base_image' ||
      (options.keepAddresses === true && /\.(hwaddr|ipv[46]\.address)$/.test(key)));
  // A server that copies by itself adds omitted keys of the source.
  const dropped = Object.fromEntries(
    Object.keys(source.config)
      .filter(isDropped)
      .map((key) => [key, '']),
  );
  return {
    architecture,
    profiles,
    ephemeral,
    description,
    config: { ...Object.fromEntries(Object.entries(source.config).filter(kept)), ...dropped },
    devices: options.devices ?? (options.storage === undefined ? source.devices : withRoot(source, options.storage)),
  };
}

function withRoot({ devices, expanded_devices }: SourceContainer, pool: string): Container['devices'] {
  const root = Object.entries(expanded_devices).find(([, device]) => isRoot(device));
  const [name, device] = root ?? ['root', { type: 'disk', path: '/' }];
  return { ...devices, [name]: { ...device, pool } };
}

const flagsOf = (options: CopyOptions) => ({
  container_only: options.containerOnly === true,
  ...(options.refresh === true ? { refresh: true } : {}),
});

async function startSource(
  { client, name }: ContainerAt,
  more: object,
  options: CopyOptions,
  signal: AbortSignal | undefined,
): Promise<Operation> {
  const [container = '', snapshot] = name.split('/', 2);
  const path = snapshot === undefined ? containerPath(container) : containerPath(container, 'snapshots', snapshot);
  const json = {
    migration: true,
    ...flagsOf(options),
    ...withoutUndefined({ live: options.live }),
    ...more,
  };
  return operationOf(await client.http.send({ method: 'POST', path, json }, signal), path);
}

async function startTarget(
  { client }: ContainerAt,
  body: object,
  { mode, options, peer }: { readonly mode: 'pull' | 'push'; readonly options: CopyOptions; readonly peer: object },
  signal: AbortSignal | undefined,
): Promise<Operation> {
  const live = options.live === true ? { live: true } : {};
  const source = { type: 'migration', mode, ...flagsOf(options), ...live, ...peer };
  const path = '/1.0/containers';
  return operationOf(await client.http.send({ method: 'POST', path, json: { ...body, source } }, signal), path);
}
