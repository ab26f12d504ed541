// `gantry apply --hosts` and `gantry destroy --hosts`: plans all hosts, asks once, then works batch by batch. The first failed host
// stops later batches, unless --keep-going is given.
import { hasChanges } from '../../../core/plan/summary.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { Host } from '../../../manifest/hosts-file.ts';
import { resume } from '../../session/resume.ts';
import { replanWhenOvertaken } from './carry-out.ts';
import { confirm } from '../../session/confirm.ts';
import type { Command, Context, Fleet, Output } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { parseCount, parseDuration } from '../../flags/parse-values.ts';
import type { RunOptions, ApplyOptions } from '../../flags/plan-flags.ts';
import type { Counts } from '../../output/outcome.ts';
import { withClient } from '../../session/connect.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { CliError } from '../../errors/usage-error.ts';
import { batchesOf, checkBatchFlags, type Batch } from '../../hosts/batches.ts';
import { outcomeOf, worstCode } from '../../hosts/each-host.ts';
import { planSaved, type FleetPlan } from '../planning/fleet-plan.ts';
import { codeOfPlans, refuseFleetChanges, showPlans } from '../planning/plan.ts';
import { loadHosts } from '../../hosts/load-hosts.ts';
import { planHosts, type PlannedHost } from '../planning/plan-hosts.ts';
import { refusalOf } from './refused-parts.ts';
import { hostCount, type PlanOutcome } from '../planning/render-plans.ts';
import { showRollout, type HostResult } from './render-rollout.ts';

export async function rollOut(
  context: Context<ApplyOptions>,
  fleet: Fleet,
  args: readonly string[],
  mode: Plan['mode'],
): Promise<ExitCode> {
  checkRolloutFlags(context);
  const loaded = await loadHosts(context, fleet, args);
  const outcomes = await planHosts(context, loaded, {
    mode,
    before: (one, client) => resume(one.context, client, setNameOf(one.context.options, one.loaded.documents)),
  });
  await showPlans(context, outcomes, mode);
  refuseFleetChanges(context, outcomes);
  return carryOutInBatches(context, outcomes, mode, (batches, hosts) =>
    confirm(context, question(mode, hosts, batches)),
  );
}

/** Carries out a saved plan without asking again; no host starts when the plan of one is stale. */
export async function rollOutSaved(context: Context<ApplyOptions>, fleet: Fleet, saved: FleetPlan): Promise<ExitCode> {
  checkRolloutFlags(context);
  const outcomes = await planSaved(context, fleet, saved);
  if (context.isJson) await showPlans(context, outcomes, saved.mode);
  return carryOutInBatches(context, outcomes, saved.mode, () => Promise.resolve());
}

export function checkRolloutFlags({ options }: Context<RunOptions>): void {
  parseCount('--parallelism', options.parallelism);
  parseDuration('--lock-timeout', options.lockTimeout);
  checkBatchFlags(options);
}

export async function carryOutInBatches(
  context: Context<ApplyOptions>,
  outcomes: readonly PlanOutcome[],
  mode: Plan['mode'],
  approve: (batches: number, hosts: number) => Promise<void>,
): Promise<ExitCode> {
  const { options } = context;
  const results = new Map<Host, HostResult>();
  for (const outcome of outcomes) results.set(outcome.host, resultWithoutRun(outcome));
  const isWorking = ({ planned }: PlannedHost): boolean =>
    planned.plan.steps.length > 0 && refusalOf(options, planned.plan) === undefined;
  const working = outcomes.flatMap((outcome) =>
    outcome.failure === undefined && isWorking(outcome.value) ? [{ ...outcome.value, name: outcome.host.name }] : [],
  );
  const batches = batchesOf(
    options,
    working,
    outcomes.map(({ host }) => host.name),
  );
  const bad = codeOfPlans(outcomes, false);
  const isAllowed = bad === exitCodes.ok || (bad === exitCodes.guard && options.partial === true);
  if (isAllowed || options.keepGoing === true) {
    if (batches.length > 0) await approve(batches.length, working.length);
    await runBatches(context, batches, mode, results);
  }
  const all = [...results.values()];
  if (batches.length > 0 || bad !== exitCodes.ok) showRollout(context, mode, all);
  else if (context.isJson) showRollout(context, mode, all);
  if (context.stop.aborted) return exitCodes.interrupted;
  const code = worstCode(all.map((result) => result.code));
  return code === exitCodes.changes && options.detailedExitcode !== true ? exitCodes.ok : code;
}

async function runBatches(
  context: Context<ApplyOptions>,
  batches: readonly Batch<PlannedHost & { readonly name: string }>[],
  mode: Plan['mode'],
  results: Map<Host, HostResult>,
): Promise<void> {
  for (const [index, batch] of batches.entries()) {
    if (context.stop.aborted) return;
    noteBatch(context, batch, index, batches.length);
    const done = await Promise.all(batch.hosts.map((one) => runHost(context, one)));
    for (const result of done) results.set(result.host, result);
    const stops = (code: ExitCode): boolean =>
      isBad(code) && !(code === exitCodes.guard && context.options.partial === true);
    if (context.options.keepGoing !== true && done.some(({ code }) => stops(code))) return;
  }
}

const isBad = (code: ExitCode): boolean => code !== exitCodes.ok && code !== exitCodes.changes;

/** `on 3 hosts, in 2 batches`. */
export const hostsAndBatches = (hosts: number, batches: number): string =>
  `on ${hostCount(hosts)}${batches > 1 ? `, in ${batches} batches` : ''}`;

function question(mode: Plan['mode'], hosts: number, batches: number): string {
  const where = hostsAndBatches(hosts, batches);
  return mode === 'apply'
    ? `Do you want to perform these actions ${where}?`
    : `Do you really want to destroy all of this ${where}?`;
}

/** The result of a host if no batch starts. */
function resultWithoutRun(outcome: PlanOutcome): HostResult {
  const { host, failure } = outcome;
  if (failure !== undefined) return { host, code: failure.code, state: 'failed', message: failure.message };
  const { plan } = outcome.value.planned;
  const message = plan.guards.map((guard) => guard.message).join('; ');
  if (message !== '') return { host, code: exitCodes.guard, state: 'failed', message };
  if (plan.steps.length > 0) return { host, code: exitCodes.ok, state: 'not-begun' };
  return { host, code: exitCodes.ok, state: hasChanges(plan) ? 'done' : 'unchanged' };
}

export function noteBatch(
  context: Output,
  { isCanary, hosts }: Batch<{ readonly name: string }>,
  at: number,
  of: number,
): void {
  const names = hosts.map(({ name }) => name).join(', ');
  context.note(`${isCanary ? 'Canary' : 'Batch'} (${at + 1} of ${of}): ${names}`);
}

/** Waits are part of the plan, so a finished host is also ready. Never rejects. */
async function runHost(context: Command, one: PlannedHost): Promise<HostResult> {
  const { host, context: own, replan } = one;
  let counts: Counts | undefined;
  const onCounts = (made: Counts): void => {
    counts = made;
  };
  const outcome = await outcomeOf(one, () =>
    withClient(own, (client) =>
      replanWhenOvertaken(
        own,
        client,
        async (round) => {
          const planned = round === 1 ? one.planned : await replan?.(client);
          if (planned === undefined)
            throw new CliError('another run has worked on the set since the plan was made', exitCodes.stale);
          return planned.plan.steps.length === 0 ? exitCodes.ok : planned;
        },
        onCounts,
      ),
    ),
  );
  const done = counts === undefined ? {} : { counts };
  if (outcome.failure === undefined)
    return { host, code: outcome.value, state: isBad(outcome.value) ? 'failed' : 'done', ...done };
  const { code, message } = outcome.failure;
  own.note(`Error: ${message}`);
  const isUnbegun = context.stop.aborted && counts === undefined;
  return isUnbegun
    ? { host, code: exitCodes.ok, state: 'not-begun' }
    : { host, code, state: 'failed', message, ...done };
}
