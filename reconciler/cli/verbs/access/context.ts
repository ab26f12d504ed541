// `gantry context add|use|list|remove`: servers by names, one of which commands use by default.
import { isAbsolute, resolve } from 'node:path';
import { usageError } from '../../errors/usage-error.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import type { Run, RunOf } from '../../session/context.ts';
import { neededContext, readContexts, changeContexts, type ServerContext } from '../../session/contexts.ts';
import type { contextAdd } from './access-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

/** The daemon of this machine. */
const local = 'local';

export const addContext: RunOf<typeof contextAdd> = async (context, [name = '', host = '']) => {
  if (name === local || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(name))
    throw usageError(
      `${JSON.stringify(name)} cannot be the name of a context: letters, digits, . _ and -, not ${local}`,
    );
  if (!/^(?:https:\/\/[^/\s]|unix:\/\/\/)/.test(host))
    throw usageError(`${JSON.stringify(host)} is not an address: https://HOST[:PORT] or unix:///PATH`);
  const { clientCert, clientKey, serverCert, project } = context.options;
  if ((clientCert === undefined) !== (clientKey === undefined))
    throw usageError('--client-cert and --client-key must be given together');
  const added = {
    host,
    ...(clientCert === undefined || clientKey === undefined
      ? {}
      : { clientCert: resolve(clientCert), clientKey: resolve(clientKey) }),
    ...(serverCert === undefined ? {} : { serverCert: fileOrFingerprint(serverCert) }),
    ...withoutUndefined({ project }),
  };
  await changeContexts(context.io.env, ({ contexts, ...rest }) => ({
    ...rest,
    contexts: new Map([...contexts, [name, added]]),
  }));
  context.out(name);
};

const fileOrFingerprint = (text: string): string =>
  isAbsolute(text) || /^[0-9a-f]{64}$/i.test(text) ? text : resolve(text);

export const takeContext: Run = async (context, [name = '']) => {
  let host = 'the daemon of this machine';
  await changeContexts(context.io.env, (all) => {
    if (name !== local) ({ host } = neededContext(all, name));
    return { contexts: all.contexts, ...(name === local ? {} : { current: name }) };
  });
  context.out(`${name}: ${host}`);
  const first = ['GANTRY_HOST', 'GANTRY_SOCKET'].find((variable) => (context.io.env[variable] ?? '') !== '');
  if (first !== undefined)
    context.note(`${first} is set and goes before it: commands of this shell go to ${context.io.env[first] ?? ''}`);
};

export const listContexts: Run = async (context) => {
  const { current = local, contexts } = await readContexts(context.io.env);
  const all: readonly (readonly [string, ServerContext])[] = [[local, { host: '' }], ...contexts];
  if (context.isJson)
    for (const [name, { host, project }] of all)
      context.io.stdout.write(
        `${JSON.stringify({ name, host, ...withoutUndefined({ project }), current: name === current })}\n`,
      );
  const rows = all.map(([name, { host }]) => [name === current ? '*' : '', name, host]);
  context.out(renderTable(['', 'NAME', 'HOST'], rows, paintFor(context.color)));
};

export const removeContext: Run = async (context, [name = '']) => {
  if (name === local)
    throw usageError(`${local} is the daemon of this machine, and always there: gantry context use NAME uses another`);
  let wasInUse = false;
  await changeContexts(context.io.env, (all) => {
    neededContext(all, name);
    const { current, contexts } = all;
    wasInUse = current === name;
    const rest = new Map([...contexts].filter(([each]) => each !== name));
    return { contexts: rest, ...(current === undefined || wasInUse ? {} : { current }) };
  });
  if (wasInUse) context.note(`${name} was in use: commands go to the daemon of this machine now`);
  context.out(name);
};
