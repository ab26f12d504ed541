// Names for completion scripts: of the server, a controller, manifests and remotes. Returns whole words that continue the typed one.
import type { KindName } from '../../../../server/api/kinds.ts';
import type { Client } from '../../../../server/client/client.ts';
import { untilAborted } from '../../../../server/lib/shared/deadline.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError } from '../../errors/usage-error.ts';
import type { AskedName } from '../../flags/verb.ts';
import { withClient } from '../../session/connect.ts';
import type { Command, Context } from '../../session/context.ts';
import { chosenServer, readContexts } from '../../session/contexts.ts';
import type { ConnectOptions } from '../../session/host.ts';
import { readRemotes } from '../../session/remotes.ts';

/** A shell waits for the names, so a server that does not answer soon has none. */
const limitMs = 1500;

/** `word`: the part that is typed so far. */
export async function namesOf(given: Context, wanted: AskedName, word: string): Promise<readonly string[]> {
  const limit = AbortSignal.timeout(limitMs);
  const stop = AbortSignal.any([given.stop, limit]);
  const context: Context = { ...given, stop };
  const answers: Readonly<Record<AskedName, () => Promise<readonly string[]>>> = {
    object: () => withServer(context, (client) => objects(context, client, word)),
    address: () => withServer(context, (client) => addresses(context, client, word)),
    container: () => withServer(context, (client) => named(context, client, 'container')),
    image: () => withServer(context, (client) => named(context, client, 'image_alias')),
    snapshot: () => withServer(context, (client) => snapshots(context, client, word)),
    set: () => withServer(context, (client) => sets(context, client)),
    controlled: () => controlled(context),
    key: () => keys(word),
    config: async () => configKeys(await keys(`${configPath}${word}`)),
    remote: async () => [...(await readRemotes(context.io.env)).keys()],
    context: async () => [...(await readContexts(context.io.env)).contexts.keys()],
    source: async () => [...(await remoteStarts(context)), ...(await aliases(context))],
  };
  try {
    // Not every step of a connection can be aborted, such as a look-up of a name.
    return await Promise.race([answers[wanted](), untilAborted(stop).then(() => Promise.reject(stop.reason as Error))]);
  } catch (error) {
    throw limit.aborted ? new CliError(`no answer in ${limitMs / 1000} s`, exitCodes.unreachable, error) : error;
  }
}

/** Also goes to the context in use. */
async function withServer(context: Context, work: (client: Client) => Promise<readonly string[]>) {
  const { options } = await chosenServer<ConnectOptions>({}, context.io.env);
  return withClient({ ...context, options: { ...context.options, ...options } }, work);
}

async function named({ stop }: Command, client: Client, kind: KindName): Promise<readonly string[]> {
  const { nameOfObject } = await import('../../../../server/api/kinds.ts');
  const found: readonly object[] = await client.list(kind, stop);
  return found.map((one) => nameOfObject(kind, one));
}

async function objects(command: Command, client: Client, word: string): Promise<readonly string[]> {
  const containers = word.includes('/') ? [] : await named(command, client, 'container');
  return [...containers, ...(await addresses(command, client, word))];
}

/** Kinds with a slash; behind such a kind the objects of it. */
async function addresses(command: Command, client: Client, word: string): Promise<readonly string[]> {
  const { kindNames, kindOfWord } = await import('../../../../server/api/kinds.ts');
  const slash = word.indexOf('/');
  if (slash < 0) return kindNames.map((kind) => `${kind}/`);
  const written = word.slice(0, slash);
  const kind = kindOfWord(written);
  return kind === undefined ? [] : (await named(command, client, kind)).map((name) => `${written}/${name}`);
}

/** Containers with a slash, or the snapshots of the one before the slash. */
async function snapshots({ stop }: Command, client: Client, word: string): Promise<readonly string[]> {
  const [container = '', typed] = word.split('/', 2);
  if (typed === undefined) return (await client.list('container', stop)).map(({ name }) => `${name}/`);
  const { readSnapshots } = await import('../containers/snapshot.ts');
  const found = await readSnapshots(client, container, stop);
  return found.map(({ name }) => `${container}/${name}`);
}

async function sets({ stop }: Command, client: Client): Promise<readonly string[]> {
  const { readSetStates } = await import('../../../core/ownership/set-state.ts');
  return [...readSetStates((await client.server(stop)).metadata.config ?? {}).keys()];
}

async function controlled(context: Context): Promise<readonly string[]> {
  const { readOverview, withApi } = await import('../controller/controller-api.ts');
  return withApi(context, async (api) => (await readOverview(api)).sets.map(({ name }) => name));
}

async function keys(word: string): Promise<readonly string[]> {
  const { explain, explainKinds, isUnknown } = await import('../../../core/kinds/explain-kinds.ts');
  const [kind = '', ...path] = word.split('.');
  const known = explainKinds().map(({ name }) => name);
  if (path.length === 0) return known;
  // Config keys contain dots themselves, so each prefix may be the map that holds them.
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const parent = path.slice(0, depth).join('.');
    const found = explain(kind as Parameters<typeof explain>[0], parent);
    if (!isUnknown(found) && found.members.length > 0)
      return found.members.map(({ name }) => [kind, parent, name].filter((part) => part !== '').join('.'));
  }
  return [];
}

const configPath = 'container.config.';
const configKeys = (found: readonly string[]): readonly string[] =>
  found.filter((key) => key.startsWith(configPath)).map((key) => `${key.slice(configPath.length)}=`);

const remoteStarts = async ({ io }: Command): Promise<readonly string[]> =>
  [...(await readRemotes(io.env)).keys()].map((name) => `${name}:`);

/** Without a server the remotes are offered alone. */
const aliases = (context: Context): Promise<readonly string[]> =>
  withServer(context, (client) => named(context, client, 'image_alias')).catch(() => []);
