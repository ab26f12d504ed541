// Contexts: named servers with their connection settings, and the one that commands use when no flag or variable names a server.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { usageError, commandError } from '../errors/usage-error.ts';
import { changing, readConfig, writeConfig, type Env } from './config-file.ts';
import type { ConnectOptions } from './host.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const members = ['clientCert', 'clientKey', 'serverCert', 'project'] as const;

export type ServerContext = { readonly host: string } & { readonly [Name in (typeof members)[number]]?: string };

export interface Contexts {
  /** Absent: the daemon of this machine. */
  readonly current?: string;
  readonly contexts: ReadonlyMap<string, ServerContext>;
}

const file = 'contexts.json';

export const readContexts = (env: Env): Promise<Contexts> =>
  readConfig(env, { name: file, what: 'a list of contexts', parse });

function parse(read: unknown): Contexts {
  const { current, contexts = {} } = read as { readonly current?: unknown; readonly contexts?: object };
  return {
    ...(typeof current === 'string' ? { current } : {}),
    contexts: new Map(Object.entries(contexts).map(([name, value]) => [name, contextOf(name, value)])),
  };
}

function contextOf(name: string, value: unknown): ServerContext {
  const read = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof read['host'] !== 'string') throw new Error(`the context ${name} has no host`);
  const more = members.flatMap((member) => (typeof read[member] === 'string' ? [[member, read[member]]] : []));
  return { host: read['host'], ...(Object.fromEntries(more) as Omit<ServerContext, 'host'>) };
}

/** `change` throws to change nothing. */
export const changeContexts = (env: Env, change: (all: Contexts) => Contexts): Promise<void> =>
  changing(env, async () => {
    const { current, contexts } = change(await readContexts(env));
    await writeConfig(env, file, {
      ...withoutUndefined({ current }),
      contexts: Object.fromEntries([...contexts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    });
  });

export function neededContext({ contexts }: Contexts, name: string): ServerContext {
  const found = contexts.get(name);
  if (found !== undefined) return found;
  const known =
    contexts.size === 0
      ? 'gantry context add NAME HOST makes one'
      : `the contexts are ${[...contexts.keys()].join(', ')}`;
  throw commandError(`there is no context ${name}${hint(name, contexts.keys())}: ${known}`);
}

export interface ChosenServer<T> {
  readonly options: T;
  /** A note for the user when the command line names no server. */
  readonly current?: string;
}

/** Flags win over a context that they name, and over the one in use. */
export async function chosenServer<T extends ConnectOptions>(options: T, env: Env): Promise<ChosenServer<T>> {
  if (options.hosts !== undefined || options.embedded !== undefined) return { options };
  const [first, second] = options.host ?? [];
  if (second !== undefined)
    throw usageError(`--host ${first ?? ''} and --host ${second}: several servers need a file of hosts (--hosts)`);
  if (first === '') throw usageError('--host is empty (is a variable of the shell unset?)');
  const named = first ?? env['GANTRY_HOST'] ?? '';
  if (named !== '') return { options: isAddress(named) ? options : filled(options, await contextNamed(named, env)) };
  if ((env['GANTRY_SOCKET'] ?? '') !== '') return { options };
  const all = await readContexts(env);
  if (all.current === undefined) return { options };
  const context = neededContext(all, all.current);
  return { options: filled(options, context), current: `context ${all.current}: ${context.host}` };
}

/** An address has a colon, or is the path of a socket. */
const isAddress = (named: string): boolean => named.includes(':') || named.startsWith('/');

/** The options for a server that a flag names, by its address or as a context. */
export async function serverOptions(options: ConnectOptions, named: string, env: Env): Promise<ConnectOptions> {
  if (isAddress(named)) return { ...options, host: [named] };
  return filled(options, await contextNamed(named, env));
}

async function contextNamed(named: string, env: Env): Promise<ServerContext> {
  const { contexts } = await readContexts(env);
  const context = contexts.get(named);
  if (context !== undefined) return context;
  throw usageError(
    `${JSON.stringify(named)} is neither a context${hint(named, contexts.keys())} nor an address: unix:///PATH or https://NAME:8443`,
  );
}

function filled<T extends ConnectOptions>(options: T, { host, ...context }: ServerContext): T {
  // A certificate and its key belong together.
  const isIdentified = options.clientCert !== undefined || options.clientKey !== undefined;
  const missing = Object.entries(context).filter(
    ([name]) =>
      options[name as keyof ConnectOptions] === undefined && !(isIdentified && /^client(?:Cert|Key)$/.test(name)),
  );
  return { ...options, ...Object.fromEntries(missing), host: [host] };
}
