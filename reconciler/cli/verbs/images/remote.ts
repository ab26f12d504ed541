// `gantry remote list|add|remove`: short names of image servers.
import { usageError, commandError } from '../../errors/usage-error.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import type { Run, RunOf } from '../../session/context.ts';
import { readRemotes, remoteProtocols, writeRemote } from '../../session/remotes.ts';
import type { remoteAdd } from './image-verbs.ts';

export const listRemotes: Run = async (context) => {
  const remotes = [...(await readRemotes(context.io.env))];
  for (const [name, { url, protocol, isBuiltIn = false }] of remotes)
    context.jsonObjects({ name, url, protocol, built_in: isBuiltIn });
  const rows = remotes.map(([name, { url, protocol, isBuiltIn }]) => [
    name,
    url,
    protocol,
    isBuiltIn === true ? 'built in' : 'added',
  ]);
  context.out(renderTable(['NAME', 'URL', 'PROTOCOL', 'ORIGIN'], rows, paintFor(context.color)));
};

export const addRemote: RunOf<typeof remoteAdd> = async (context, [name = '', url = '']) => {
  if (name === 'local' || !/^[a-z0-9][a-z0-9._-]{0,39}$/.test(name))
    throw usageError(
      `${JSON.stringify(name)} cannot be the name of a remote: small letters, digits, . _ and -, not local`,
    );
  if (!/^https:\/\/[^/\s]/.test(url))
    throw usageError(`${JSON.stringify(url)} is not an address: https://HOST[:PORT][/PATH]`);
  const wanted = context.options.protocol ?? 'simplestreams';
  const protocol = remoteProtocols.find((one) => one === wanted);
  if (protocol === undefined) throw usageError(`--protocol ${wanted} is not one of ${remoteProtocols.join(', ')}`);
  await writeRemote(context.io.env, name, { url: url.replace(/\/+$/, ''), protocol });
  context.out(name);
};

export const removeRemote: Run = async (context, [name = '']) => {
  const remotes = await readRemotes(context.io.env);
  const remote = remotes.get(name);
  if (remote === undefined) throw commandError(`there is no remote ${name}${hint(name, remotes.keys())}`);
  if (remote.isBuiltIn === true)
    throw commandError(`the remote ${name} is built in: gantry remote add ${name} URL gives it another address`);
  await writeRemote(context.io.env, name, undefined);
  context.out(name);
};
