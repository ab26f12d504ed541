// Connects the two ends of a migration: one side waits on channels of its operation, the other one dials them.
import { errors } from '../../../api/errors.ts';
import type { Problem } from '../../../api/problem.ts';
import type { Reach } from '../../../lib/reach.ts';
import type { Channel, ChannelSet } from '../../../operations/channels.ts';
import { waitFor } from '../../containers/exec/exec.ts';
import { Peer, type PeerChannels } from './peer.ts';

export type ChannelName = keyof PeerChannels;

/** Address of the operation on the other side. */
export interface DialTarget {
  /** URL: `https://host:port/1.0/operations/ID`. */
  readonly operation: string;
  /** PEM of the only accepted certificate; if absent, the system's authorities decide. */
  readonly certificate?: string;
  /** Permitted destinations; absent: any. */
  readonly reach?: Reach | undefined;
}

/** Opens one channel of an operation on another server. Throws an Error that says which address could not be reached and why. */
export type Dial = (target: DialTarget, secret: string, signal: AbortSignal) => Promise<Channel>;

/** How this side gets its channels. */
export type Meeting =
  | { readonly how: 'wait'; readonly channels: ChannelSet; readonly names: readonly ChannelName[] }
  | { readonly how: 'dial'; readonly target: DialTarget; readonly secrets: Readonly<Record<string, string>> };

export interface ConnectDeps {
  readonly dial: Dial;
  /** Time for the other side to connect; default 30 s. */
  readonly connectTimeoutMs?: number;
}

const defaultConnectTimeoutMs = 30_000;

/** Resolves once all channels are open; only then the transfer starts (spec 4.2). */
export async function meet(deps: ConnectDeps, meeting: Meeting, signal: AbortSignal): Promise<Peer> {
  const channels = meeting.how === 'wait' ? await awaited(deps, meeting, signal) : await dialled(deps, meeting, signal);
  return new Peer(channels, signal);
}

async function awaited(
  deps: ConnectDeps,
  { channels, names }: Extract<Meeting, { how: 'wait' }>,
  signal: AbortSignal,
): Promise<PeerChannels> {
  const timeoutMs = deps.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const connected = await waitFor(
    Promise.all(names.map((name) => channels.connected(name))),
    timeoutMs,
    `The other side did not connect to all of the channels ${names.join(', ')} in ${timeoutMs} ms`,
    signal,
  );
  return named(names, connected);
}

async function dialled(
  deps: ConnectDeps,
  { target, secrets }: Extract<Meeting, { how: 'dial' }>,
  signal: AbortSignal,
): Promise<PeerChannels> {
  const names = channelNames.filter((name) => secrets[name] !== undefined);
  const open: Channel[] = [];
  try {
    for (const name of names) open.push(await deps.dial(target, secrets[name] ?? '', signal));
  } catch (error) {
    for (const channel of open) channel.close();
    throw error;
  }
  return named(names, open);
}

const channelNames = ['control', 'fs', 'criu'] as const satisfies readonly ChannelName[];

function named(names: readonly ChannelName[], channels: readonly Channel[]): PeerChannels {
  return Object.fromEntries(names.map((name, index) => [name, channels[index]])) as unknown as PeerChannels;
}

/** `criu` exists for clients that expect it in a live migration. It carries nothing: the checkpoint is sent with the files. */
export const channelsOf = (live: boolean | undefined): readonly ChannelName[] =>
  live === true ? channelNames : ['control', 'fs'];

export interface DialRequest {
  readonly operation?: unknown;
  readonly certificate?: unknown;
  readonly secrets?: unknown;
  /** Newer clients send this instead of `secrets`. */
  readonly websockets?: unknown;
}

/** Throws badRequest that names every invalid member; `path` is the location of the request in the body. */
export function dialMeeting(path: string, request: DialRequest, reach: Reach | undefined): Meeting {
  const problems: Problem[] = [];
  const { operation, certificate } = request;
  const secrets = request.secrets ?? request.websockets;
  if (typeof operation !== 'string' || !isOperationUrl(operation))
    problems.push({ path: `${path}.operation`, message: 'must be the URL https://HOST:PORT/1.0/operations/ID' });
  if (certificate !== undefined && certificate !== '' && !isPem(certificate))
    problems.push({ path: `${path}.certificate`, message: 'must be a certificate in PEM form' });
  const known = typeof secrets === 'object' && secrets !== null ? (secrets as Record<string, unknown>) : {};
  for (const name of ['control', 'fs'] as const) {
    if (typeof known[name] !== 'string' || known[name] === '')
      problems.push({ path: `${path}.secrets.${name}`, message: 'is required: the secret of that channel' });
  }
  if (problems.length > 0) throw errors.invalid('migration', problems);
  const given = channelNames.flatMap((name) => {
    const secret = known[name];
    return typeof secret === 'string' && secret !== '' ? [[name, secret] as const] : [];
  });
  return {
    how: 'dial',
    target: { operation: String(operation), ...(isPem(certificate) ? { certificate } : {}), reach },
    secrets: Object.fromEntries(given),
  };
}

function isOperationUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'wss:')) return false;
  return /^\/1\.0\/operations\/[^/]+$/.test(url.pathname) && url.username === '' && url.password === '';
}

const isPem = (value: unknown): value is string =>
  typeof value === 'string' && /-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(value);
