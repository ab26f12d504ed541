// `--dry-run`: what an apply would do, as a plan only (client) or carried out on a copy of each daemon in this process (server). The live
// daemons are only read.
import { type Client, createClient } from '../../../../server/client/client.ts';
import { type Verdict, countOf, dryRunSummary, refusalsOf, renderDryRun } from '../../../core/plan/dry-run.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Command, Context, Output } from '../../session/context.ts';
import { startDryRunDaemon } from '../../session/embedded.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { parseCount } from '../../flags/parse-values.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import type { RunOptions } from '../../flags/plan-flags.ts';
import { readerOf } from '../../session/read-only-client.ts';
import type { ReadClient, SetPlan } from '../../session/plan.ts';
import { CliError } from '../../errors/usage-error.ts';
import { paintFor } from '../../output/paint.ts';
import { jsonLine } from '../../output/render-json.ts';
import { withClient } from '../../session/connect.ts';
import { firstLine, renderTable } from '../../output/table.ts';
import { eachHost, outcomeWord } from '../../hosts/each-host.ts';
import { showDiagnostics } from '../../hosts/load-hosts.ts';
import type { PlannedHost, TriedPlan } from './plan-hosts.ts';
import { type PlanOutcome, groupsOf, hostCount, namesOf } from './render-plans.ts';

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
  // Nothing renews or releases the lock in the copy, so waiting for it is useless.
  const run = new SetRun({ ...owner, client: copy, nowMs: io.nowMs, pause, warn: () => {} });
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

/** Each copy is a daemon in this process; more of them would only compete for its one thread. */
const copiesAtOnce = 2;

/** Adds its outcome to each plan. Sends only GET requests to the hosts. */
export async function tryHosts(context: Command, outcomes: readonly PlanOutcome[]): Promise<readonly PlanOutcome[]> {
  const tried = await eachHost(
    outcomes.flatMap((one) => (one.failure === undefined ? [one.value] : [])),
    (one): Promise<PlannedHost> =>
      withClient(one.context, async (client) => ({ ...one, tried: await tryPlan(one.context, client, one.planned) })),
    context.stop,
    copiesAtOnce,
  );
  const byHost = new Map(tried.map((one) => [one.host, one]));
  return outcomes.map((one) => byHost.get(one.host) ?? one);
}

const titles: readonly (readonly [Verdict, string])[] = [
  ['accepted', 'WOULD SUCCEED'],
  ['refused', 'REFUSED'],
  ['unreached', 'NOT REACHED'],
  ['untried', 'NOT TRIED'],
];

/** Text: equal outcomes once, then a table of all hosts. JSON: the lines of each host. */
export async function showTriedHosts(context: Output, outcomes: readonly PlanOutcome[]): Promise<void> {
  const hosts = outcomes.flatMap((one) => (one.failure === undefined ? [one.value] : []));
  if (context.isJson) {
    for (const { context: own, tried, locate } of hosts)
      if (tried !== undefined) await showTried({ ...own, diagnostics: context.diagnostics }, tried, locate);
    context.json(jsonLine('fleet_dry_run', triedLine(outcomes), { hosts: countsOf(outcomes) }, context.io.nowMs()));
    return;
  }
  await showRefusals(context, hosts);
  const paint = paintFor(context.color);
  const { color } = context;
  for (const group of groupsOf(outcomes, ({ tried }) =>
    tried === undefined ? '' : renderDryRun(tried, { color }).trimEnd(),
  )) {
    if (group.members.some(({ tried }) => tried !== undefined && tried.trials.length > 0))
      context.out(`\n${paint.bold(`Tried on a copy of ${namesOf(group)}`)}\n${group.text}`);
  }
  const rows = outcomes.map((one) => {
    if (one.failure !== undefined)
      return [
        one.host.name,
        ...titles.map(() => ''),
        `${outcomeWord(one.failure.code)}: ${firstLine(one.failure.message)}`,
      ];
    const tried = one.value.tried ?? { trials: [] };
    const note = tried.trials.length === 0 ? 'nothing to try' : '';
    return [one.host.name, ...titles.map(([verdict]) => String(countOf(tried, verdict))), note];
  });
  context.out(`\n${renderTable(['HOST', ...titles.map(([, title]) => title), 'NOTE'], rows, paint)}`);
  context.out(`\n${paint.bold(triedLine(outcomes))}`);
}

/** Prints each refusal once, with its place in the manifests. */
export const showRefusals = (context: Output, hosts: readonly PlannedHost[]): Promise<void> =>
  showDiagnostics(
    context,
    hosts.map(({ host, tried = { trials: [] }, locate = (found) => found }) => ({
      host,
      diagnostics: refusalsOf(tried).map((refusal) => locate(refusal)),
    })),
    hosts.length,
  );

const countsOf = (outcomes: readonly PlanOutcome[]): readonly object[] =>
  outcomes.map(({ host, ...one }) => {
    if (one.failure !== undefined) return { host: host.name, exit_code: one.failure.code };
    const tried = one.value.tried ?? { trials: [] };
    return {
      host: host.name,
      exit_code: 0,
      ...Object.fromEntries(titles.map(([verdict]) => [verdict, countOf(tried, verdict)])),
    };
  });

function triedLine(outcomes: readonly PlanOutcome[]): string {
  const trials = outcomes.flatMap((one) => (one.failure === undefined ? (one.value.tried?.trials ?? []) : []));
  const untold = outcomes.flatMap((one) => (one.failure === undefined ? [] : [one.host.name]));
  const line = dryRunSummary({ trials }).replace('Dry run:', `Dry run on ${hostCount(outcomes.length)}:`);
  return untold.length === 0 ? line : `${line.replace(/\.$/, '')}; not tried for: ${untold.join(', ')}.`;
}
