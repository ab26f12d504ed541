// `gantry migrate-from-lxd`: reads both servers, shows the moves and differences, moves step by step, and writes manifests of the result.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../../../../server/client/client.ts';
import { migrationModes, type MigrationMode } from '../../../../server/client/channels/migrate.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { parseDuration } from '../../flags/parse-values.ts';
import { confirm } from '../../session/confirm.ts';
import { withClient } from '../../session/connect.ts';
import { serverOptions } from '../../session/contexts.ts';
import type { Context, Run } from '../../session/context.ts';
import type { ConnectOptions } from '../../session/host.ts';
import { exportHost } from '../objects/export.ts';
import { carry, type Carrier } from './carry-moves.ts';
import { decideMoves } from './decide-moves.ts';
import { withFolder } from '../../output/folder-lock.ts';
import type { Difference, Move, MovePlan } from './moves.ts';
import type { MigrateOptions } from './moving-verbs.ts';
import { openProgress, type Progress } from './progress-file.ts';
import { readInventory } from './read-inventory.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

type Moving = Context<MigrateOptions>;

export const migrateFromLxd: Run<MigrateOptions> = (context) => {
  const { options } = context;
  if (options.exact === true && options.toLxd === true)
    throw usageError('--exact goes from LXD only: LXD 5.0 loses access lists when it reads a backup. Leave it out');
  const how = { mode: modeOf(options.mode), graceSeconds: graceOf(options.grace) };
  const folder = options.stateDir ?? 'lxd-move';
  const run = (): Promise<ExitCode> => moveAll(context, folder, how);
  return options.dryRun === true ? run() : withFolder(folder, run);
};

async function moveAll(
  context: Moving,
  folder: string,
  { mode, graceSeconds }: Pick<Carrier, 'mode' | 'graceSeconds'>,
): Promise<ExitCode> {
  const { options } = context;
  const lxd = { ...context, options: await lxdOptions(context) };
  return withClient(context, (gantryd) =>
    withClient(lxd, async (other) => {
      const [from, to] = options.toLxd === true ? [gantryd, other] : [other, gantryd];
      if (from.host === to.host)
        throw usageError(`${from.host} is both servers: name the other one with --host or --lxd`);
      const progress = await openProgress(folder, from.host, to.host);
      const plan = await planOf(context, from, to, progress);
      const todo = plan.moves.filter(({ id }) => progress.entries.get(id)?.stage !== 'done');
      show(context, plan, todo, from.host, to.host);
      if (options.dryRun === true) return exitCodes.ok;
      if (todo.length > 0) await confirm(context, `Move this from ${from.host} to ${to.host}?`, 'The move');
      const signal = context.stop;
      const starts = options.start !== false;
      const deletesSource = options.deleteSource === true;
      const isExact = options.exact === true;
      const failed = await carryAll(
        context,
        {
          from,
          to,
          progress,
          mode,
          starts,
          deletesSource,
          isExact,
          graceSeconds,
          nowMs: () => context.io.nowMs(),
          signal,
        },
        todo,
      );
      await writeManifests(options.toLxd === true ? lxd : context, join(folder, 'manifests'));
      if (failed === 0) return exitCodes.ok;
      throw commandError(
        `${failed} of ${todo.length} objects did not move, all others did: correct the reasons above and run the same again, it continues`,
      );
    }),
  );
}

async function planOf(context: Moving, from: Client, to: Client, progress: Progress): Promise<MovePlan> {
  const [source, { world: target }, { metadata }] = await Promise.all([
    readInventory(from, context.stop),
    readInventory(to, context.stop),
    to.server(context.stop),
  ]);
  const architectures = metadata.environment?.architectures;
  const keepsAddresses = context.options.keepAddresses === true;
  return decideMoves({
    source,
    target,
    keepsAddresses,
    begun: new Set(progress.entries.keys()),
    ...withoutUndefined({ architectures }),
  });
}

/** Reports each failed step; steps that need it fail too, all others continue. */
async function carryAll(context: Moving, carrier: Carrier, todo: readonly Move[]): Promise<number> {
  let failed = 0;
  for (const move of todo) {
    carrier.signal.throwIfAborted();
    const startedMs = context.io.nowMs();
    try {
      await carry(carrier, move);
      report(context, move.id, 'moved', `moved in ${((context.io.nowMs() - startedMs) / 1000).toFixed(1)}s`);
    } catch (error) {
      if (carrier.signal.aborted) throw error;
      failed += 1;
      report(context, move.id, 'failed', `did not move: ${reasonOf(error)}`);
    }
  }
  return failed;
}

function report(context: Moving, id: string, result: 'moved' | 'failed', text: string): void {
  context.json(JSON.stringify({ type: 'move', id, result, text }));
  context.out(`${id} ${text}`);
}

function show(context: Moving, plan: MovePlan, todo: readonly Move[], from: string, to: string): void {
  context.out(`From ${from} to ${to}:`);
  for (const move of todo) {
    context.json(JSON.stringify({ type: 'step', id: move.id }));
    context.out(`  + ${move.id}${howOf(move, context.options.exact === true)}`);
  }
  const listed = (effect: Difference['effect']): readonly Difference[] =>
    plan.differences.filter((one) => one.effect === effect);
  const sections = [
    ['left', 'Stays behind:'],
    ['changed', 'Differs there:'],
  ] as const;
  for (const [effect, title] of sections) {
    if (listed(effect).length > 0) context.out(title);
    for (const { id, text } of listed(effect)) {
      context.json(JSON.stringify({ type: 'difference', id, effect, text }));
      context.out(`  ${effect === 'left' ? '-' : '~'} ${id}: ${text}`);
    }
  }
  if (context.options.exact !== true && todo.some(({ type }) => type === 'container' || type === 'volume'))
    context.out(
      'Hard links become copies and access lists (ACLs) are lost: --exact keeps both, running containers are down for longer',
    );
  const done = plan.moves.length - todo.length;
  context.out(
    `${todo.length} to move${done === 0 ? '' : `, ${done} moved before`}, ${listed('left').length} stay behind`,
  );
}

function howOf(move: Move, isExact: boolean): string {
  if (move.type !== 'container' || !move.isRunning) return '';
  return move.stopsFirst || isExact
    ? ' (runs: stopped while it and its volumes are copied)'
    : ' (runs: copied, stopped for the second pass, started there)';
}

/** Manifests whose plan is empty. */
async function writeManifests(context: Context<object>, output: string): Promise<void> {
  await exportHost({ ...context, options: { ...context.options, output, force: true } }, []);
  context.note(`gantry plan -f ${output} shows no changes`);
}

function modeOf(mode: string | undefined): MigrationMode | undefined {
  if (mode === undefined) return undefined;
  const known = migrationModes.find((one) => one === mode);
  if (known === undefined) throw usageError(`--mode ${mode} is not one of ${migrationModes.join(', ')}`);
  return known;
}

const graceOf = (grace: string | undefined): number =>
  Math.max(1, Math.ceil((parseDuration('--grace', grace) ?? 30_000) / 1000));

/** The LXD socket of the snap and of the Debian package. */
const sockets = ['/var/snap/lxd/common/lxd/unix.socket', '/var/lib/lxd/unix.socket'];

async function lxdOptions({ options, io }: Moving): Promise<MigrateOptions & Pick<ConnectOptions, 'flagPrefix'>> {
  const { lxd, lxdClientCert, lxdClientKey, lxdServerCert, serverCert: _pin, ...shared } = options;
  const folder = io.env['LXD_DIR'];
  const local = [...(folder === undefined ? [] : [join(folder, 'unix.socket')]), ...sockets].find((path) =>
    existsSync(path),
  );
  if (lxd === undefined && local === undefined)
    throw usageError(`no LXD on this host (${sockets.join(', ')}): name it with --lxd https://HOST:8443`);
  const own: ConnectOptions = {
    ...withoutUndefined({ clientCert: lxdClientCert, clientKey: lxdClientKey, serverCert: lxdServerCert }),
  };
  const server = await serverOptions(own, lxd ?? `unix://${local ?? ''}`, io.env);
  return { ...shared, ...server, flagPrefix: '--lxd-' };
}
