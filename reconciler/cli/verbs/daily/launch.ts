// `gantry launch IMAGE [NAME]`: creates a container from an image and starts it. Adds a disk and a network if no profile has them.
import type { ContainerCreate } from '../../../../server/api/container/container.ts';
import { isNic, isRoot } from '../../../../server/api/devices/index.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { Client } from '../../../../server/client/client.ts';
import { sameServer } from '../../flags/same-server.ts';
import { commandError } from '../../errors/usage-error.ts';
import { parseContainer, parsePairs } from '../../flags/parse-values.ts';
import { withClient } from '../../session/connect.ts';
import type { Command, Context, Run } from '../../session/context.ts';
import { followOperation } from '../../session/follow-operation.ts';
import { parseImageWord, readRemotes, type ImageWord } from '../../session/remotes.ts';
import type { LaunchOptions } from './daily-verbs.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

type Devices = NonNullable<ContainerCreate['devices']>;

export const launch: Run<LaunchOptions> = async (context, [word = '', address]) => {
  const { options, stop } = context;
  const image = parseImageWord(word, await readRemotes(context.io.env));
  const config = parsePairs('--config', options.config);
  const given = address === undefined ? undefined : parseContainer(address, 'gantry launch');
  await withClient(context, async (client) => {
    const profiles = options.profile ?? ['default'];
    const body: ContainerCreate = {
      ...withoutUndefined({ name: given }),
      source: await sourceOf(client, image, stop),
      profiles: [...profiles],
      config,
      devices: await devicesFor(context, client, profiles),
      ...(options.ephemeral === true ? { ephemeral: true } : {}),
    };
    const made = await followOperation(context, client, () => client.create('container', body, {}, stop)).catch(
      async (error: unknown) => {
        throw given !== undefined && (await exists(client, given, stop))
          ? commandError(`container/${given} exists already: gantry start ${given} starts it`, error)
          : error;
      },
    );
    const name = given ?? made.containers[0] ?? '';
    if (options.start !== false)
      await client.operations.run(() => client.putContainerState(name, { action: 'start' }, stop), context.cancel);
    const state = options.start === false ? 'created' : 'started';
    context.jsonObjects({ kind: 'container', name, action: 'launch', state });
    context.out(`container/${name} ${state}`);
    const there = sameServer(context.io.argv);
    if (options.start !== false) context.note(`Next: gantry shell ${name}${there}, or gantry info ${name}${there}`);
  });
};

const exists = (client: Client, name: string, signal: AbortSignal): Promise<boolean> =>
  client.get('container', name, signal).then(
    () => true,
    () => false,
  );

async function sourceOf(
  client: Client,
  { remote, alias }: ImageWord,
  signal: AbortSignal,
): Promise<ContainerCreate['source']> {
  if (remote !== undefined)
    return { type: 'image', mode: 'pull', server: remote.url, protocol: remote.protocol, alias };
  const images = await client.list('image', signal);
  const known = images.flatMap(({ aliases }) => aliases.map(({ name }) => name));
  if (known.includes(alias)) return { type: 'image', alias };
  const [found, second] = /^[0-9a-f]{6,64}$/.test(alias)
    ? images.filter(({ fingerprint }) => fingerprint.startsWith(alias))
    : [];
  if (found !== undefined && second === undefined) return { type: 'image', fingerprint: found.fingerprint };
  throw commandError(
    `the server has no image ${alias}${hint(alias, known)}: gantry image list shows what it has, ` +
      `images:${alias} would be fetched from another server (gantry remote list)`,
  );
}

/** Devices that no profile has: a root disk on the only pool, a nic on the only network. */
async function devicesFor(
  context: Context<LaunchOptions>,
  client: Client,
  profiles: readonly string[],
): Promise<Devices> {
  const { options, stop } = context;
  // The server takes any name of a parent, and the container then does not start.
  if (options.network !== undefined)
    await client.get('network', options.network, stop).catch(refuseMissing('network', options.network));
  const found = await Promise.all(profiles.map(async (name) => profileOf(client, name, stop)));
  const all = found.flatMap(({ devices }) => Object.values(devices));
  const hasDisk = all.some(isRoot);
  const hasNic = all.some(isNic);
  const pool = options.storage ?? (hasDisk ? undefined : await onlyPool(client, stop));
  const network = options.network ?? (hasNic ? undefined : await onlyNetwork(context, client));
  return {
    ...(pool === undefined ? {} : { root: { type: 'disk', path: '/', pool } }),
    ...(network === undefined ? {} : { eth0: { type: 'nic', nictype: 'bridged', parent: network, name: 'eth0' } }),
  };
}

async function profileOf(client: Client, name: string, signal: AbortSignal): Promise<{ readonly devices: Devices }> {
  const reply = await client.get('profile', name, signal).catch(refuseMissing('profile', name));
  return reply.metadata;
}

async function onlyPool(client: Client, signal: AbortSignal): Promise<string> {
  const pools = await client.list('storage_pool', signal);
  const [one, second] = pools;
  if (one === undefined)
    throw commandError(
      'the server has no storage pool for the disk of a container: gantry init writes a manifest with one',
    );
  if (second === undefined) return one.name;
  const names = pools.map(({ name }) => name).join(', ');
  throw commandError(`no profile gives a root disk: choose a pool with --storage (${names})`);
}

async function onlyNetwork(context: Command, client: Client): Promise<string | undefined> {
  const networks = (await client.list('network', context.stop)).filter(({ managed }) => managed);
  const [one, second] = networks;
  if (one !== undefined && second === undefined) return one.name;
  const why =
    one === undefined ? 'the server has none' : `choose one of ${networks.map(({ name }) => name).join(', ')}`;
  context.note(`The container gets no network card: no profile gives one, and ${why} (--network)`);
  return undefined;
}
