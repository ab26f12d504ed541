// `gantry copy` and `gantry move`: a container on this server, or from one server to another.
import type { Container } from '../../../../server/api/container/container.ts';
import type { Client } from '../../../../server/client/client.ts';
import {
  copyContainer,
  migrationModes,
  moveContainer,
  type ContainerAt,
  type CopyOptions,
  type MigrationMode,
} from '../../../../server/client/channels/migrate.ts';
import { isRecordKey } from '../../../core/ownership/owner-records.ts';
import type { Context, Run } from '../../session/context.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import type { CopyOptions as CopyVerbOptions, MoveOptions as MoveVerbOptions } from './container-verbs.ts';
import { progressLine } from '../../session/follow-operation.ts';
import { withClient } from '../../session/connect.ts';
import { serverOptions } from '../../session/contexts.ts';
import { commandError, usageError } from '../../errors/usage-error.ts';
import { refuseServerInName } from '../../flags/server-in-name.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { moveRunning } from './move-running.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

type BothOptions = CopyVerbOptions & MoveVerbOptions;

export const copy: Run<CopyVerbOptions> = (context, args) => copyOrMove(context, 'copy', args);
export const move: Run<MoveVerbOptions> = (context, args) => copyOrMove(context, 'move', args);

async function copyOrMove(
  context: Context<BothOptions>,
  verb: 'copy' | 'move',
  [name = '', target = name]: readonly string[],
): Promise<void> {
  refuseFiles(name, target);
  refuseServerInName(name);
  refuseServerInName(target, '--target-host');
  if (target.includes('/')) throw usageError(`${target} cannot be the name of a copy: give one as the second argument`);
  const { storage, target: member, targetHost } = context.options;
  if (member !== undefined && targetHost !== undefined)
    throw usageError('--target and --target-host exclude each other');
  const line = progressLine(context, context.note);
  const note = (text: string): void => {
    line.clear();
    context.note(text);
  };
  const options = { ...optionsOf(context.options), onUpdate: line.onUpdate };
  await withTarget(context, async (from, to) => {
    if (from.host === to.host && name === target && storage === undefined && member === undefined)
      throw usageError('give the copy another name, or --target-host');
    const source = await requireSource(from, name, context.stop);
    const sides: readonly [ContainerAt, ContainerAt] = [
      { client: from, name },
      { client: to, name: target },
    ];
    const isRunningAway = source?.status === 'Running' && from.host !== to.host;
    if (isRunningAway && verb === 'move' && options.live === false) {
      if (source.ephemeral) throw commandError(`container/${name} is ephemeral: the stop of a move would delete it`);
      await moveRunning({ ...context, note }, ...sides, options);
      return;
    }
    await (verb === 'copy' ? copyContainer : moveContainer)(
      ...sides,
      verb === 'copy' ? { ...options, drops: isRecordKey } : options,
      context.cancel,
    ).catch((error: unknown) => {
      if (!isRunningAway || options.live === false || !/\bCRIU\b/.test(reasonOf(error))) throw error;
      throw commandError(`${reasonOf(error)}; ${withoutMemory[verb]}`, error);
    });
  }).finally(line.clear);
}

/** What is left where the memory of processes cannot travel. */
const withoutMemory = {
  copy: '--no-live copies its files while it runs',
  move: '--no-live moves it without its memory: it is stopped for the last seconds, and started on the target',
};

const inContainer = /^[^/:]+:\//;

/** docker and kubectl copy files with `cp`. */
function refuseFiles(from: string, to: string): void {
  const path = (word: string): string => word.replace(':', '');
  if (inContainer.test(from))
    throw usageError(
      `this copies containers; for files: gantry file pull ${path(from)} ${to === from ? 'LOCAL' : path(to)}`,
    );
  if (inContainer.test(to)) throw usageError(`this copies containers; for files: gantry file push ${from} ${path(to)}`);
}

/** The container, undefined for a snapshot. The requests of a copy also answer 404 for a pool or a member that is missing. */
async function requireSource(client: Client, name: string, signal: AbortSignal): Promise<Container | undefined> {
  if (name.includes('/')) return undefined;
  return (await client.get('container', name, signal).catch(refuseMissing('container', name))).metadata;
}

/** The target is reached with the options of the source, unless others are given for it. */
async function withTarget(
  context: Context<BothOptions>,
  work: (from: Client, to: Client) => Promise<void>,
): Promise<void> {
  const { targetHost, targetClientCert, targetClientKey, targetServerCert } = context.options;
  if (targetHost === undefined) {
    if ((targetClientCert ?? targetClientKey ?? targetServerCert) !== undefined)
      throw usageError('--target-client-cert, --target-client-key and --target-server-cert need --target-host');
    return withClient(context, (client) => work(client, client));
  }
  const { host: _host, serverCert: _pin, embedded: _embedded, runtime: _runtime, ...shared } = context.options;
  const own: HostOptions = {
    ...withoutUndefined({ clientCert: targetClientCert, clientKey: targetClientKey, serverCert: targetServerCert }),
  };
  const options = { ...shared, ...(await serverOptions(own, targetHost, context.io.env)) };
  return withClient(context, (from) => withClient({ ...context, options }, (to) => work(from, to)));
}

function optionsOf({ mode, containerOnly, refresh, storage, live, target }: BothOptions): CopyOptions {
  if (mode !== undefined && !isMode(mode))
    throw usageError(`--mode ${mode} is not one of ${migrationModes.join(', ')}`);
  return {
    ...withoutUndefined({ mode, containerOnly, refresh, storage, live, member: target }),
  };
}

const isMode = (mode: string): mode is MigrationMode => (migrationModes as readonly string[]).includes(mode);
