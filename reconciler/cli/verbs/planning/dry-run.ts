// `--dry-run`: what an apply would do, as a plan only (client) or carried out on a copy of the daemon in this process (server). The live
// daemon is only read.
import type { Client } from '../../../../server/client/client.ts';
import { createClient } from '../../../../server/client/client.ts';
import type { DryRun } from '../../../core/plan/dry-run.ts';
import type { RunResult } from '../../../engine/run-result.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Context, Output } from '../../session/context.ts';
import { startDryRunDaemon } from '../../session/embedded.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { parseCount } from '../../flags/parse-values.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import type { RunOptions } from '../../flags/plan-flags.ts';
import { readerOf } from '../../session/read-only-client.ts';
import type { SetPlan, ReadClient } from '../../session/plan.ts';
import { CliError } from '../../errors/usage-error.ts';

/** `result` is absent when there was nothing to do. */
export type TriedPlan = DryRun & { readonly result?: RunResult };

/** Carries the plan out on a copy of the client's server. Throws like an apply: exit code 5 when the set is locked. */
export async function tryPlan(
  context: Context<HostOptions & RunOptions>,
  client: ReadClient,
  planned: SetPlan,
): Promise<TriedPlan> {
  const { plan, observed } = planned;
  if (plan.steps.length === 0) return { trials: [] };
  const { readServerContents } = await import('../../../engine/observe/read-dry-run-source.ts');
  const contents = await readServerContents(readerOf(client), observed, plan, context.stop);
  context.note(`Trying ${plan.steps.length} ${plan.steps.length === 1 ? 'step' : 'steps'} on a copy in memory`);
  const daemon = await startDryRunDaemon(contents, context.io.env);
  try {
    const { base } = observed;
    const copy = createClient(daemon.host, base === undefined ? {} : { project: base });
    try {
      return await runOn(context, copy, planned);
    } finally {
      await copy.close();
    }
  } finally {
    await daemon.stop();
  }
}

async function runOn(
  context: Context<HostOptions & RunOptions>,
  copy: Client,
  { plan, observed, owner }: SetPlan,
): Promise<TriedPlan> {
  const { io, options } = context;
  const [{ dryRun }, { SetRun }, { LockedError }, { pause }] = await Promise.all([
    import('../../../engine/runs/dry-run.ts'),
    import('../../../engine/runs/set-run.ts'),
    import('../../../engine/notes/lock.ts'),
    import('../../../../server/lib/shared/deadline.ts'),
  ]);
  const runs = observed.sets?.get(owner.set)?.runs ?? 0;
  // Nothing renews or releases the lock in the copy, so waiting for it is useless.
  const run = new SetRun({ ...owner, client: copy, runs, nowMs: io.nowMs, pause, warn: () => {} });
  const parallelism = parseCount('--parallelism', options.parallelism);
  const deps = {
    client: copy,
    observed,
    run,
    stop: context.stop,
    nowMs: io.nowMs,
    failFast: options.failFast === true,
  };
  const more = parallelism === undefined ? {} : { parallelism };
  return dryRun(plan, { ...deps, ...more }, context.cancel).catch((error: unknown) => {
    if (error instanceof LockedError) throw new CliError(error.message, exitCodes.locked, error);
    throw error;
  });
}

/** Prints refusals with their places on stderr, the list of steps on stdout. */
export async function showTried(
  context: Output,
  tried: TriedPlan,
  locate: Loaded['locate'] = (found) => found,
): Promise<void> {
  const { dryRunJson, dryRunSummary, refusalsOf, renderDryRun, trialJson } =
    await import('../../../core/plan/dry-run.ts');
  await context.diagnostics(refusalsOf(tried).map((refusal) => locate(refusal)));
  if (!context.isJson) {
    context.out(`\n${renderDryRun(tried, { color: context.color }).trimEnd()}`);
    return;
  }
  const { jsonLine } = await import('../../output/render-json.ts');
  const atMs = context.io.nowMs();
  for (const trial of tried.trials) {
    const text = `${trial.address}: ${trial.action} ${trial.verdict}`;
    context.json(jsonLine('dry_run_step', text, { trial: trialJson(trial) }, atMs));
  }
  const { steps: _steps, ...counts } = dryRunJson(tried);
  context.json(jsonLine('dry_run_summary', dryRunSummary(tried), { dry_run: counts }, atMs));
}
