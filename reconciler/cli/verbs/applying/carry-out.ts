// Carries out an approved plan on one host, shows its progress, and plans again if another run of the set came first.
import type { Client } from '../../../../server/client/client.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { ExecuteDeps } from '../../../engine/execute.ts';
import type { RunResult } from '../../../engine/run-result.ts';
import type { Context, Output } from '../../session/context.ts';
import { exitCodeOf, exitCodeOfPlan, exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { colorOf } from '../../output/safe-io.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { parseCount, parseDuration } from '../../flags/parse-values.ts';
import { isApproved, type GuardOptions, type RunOptions } from '../../flags/plan-flags.ts';
import { countDone, outcomeLine, renderFailures, type Counts } from '../../output/outcome.ts';
import { paintFor } from '../../output/paint.ts';
import { changeSummary } from '../../output/render-json.ts';
import { revisionNotes } from '../../session/revision.ts';
import { reporterFor, type Reporter } from '../../output/reporter.ts';
import { hostName } from '../../session/connect.ts';
import type { SetPlan } from '../../session/plan.ts';
import { CliError } from '../../errors/usage-error.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

type CarryOutOptions = HostOptions & RunOptions;

/** Max plans of one approved apply when other runs of the set keep coming first. */
const rounds = 5;

/** Makes a plan and carries it out, or exits with the code of `makePlan`. Makes a new plan when another run of the set came first. */
export async function replanWhenOvertaken(
  context: Context<CarryOutOptions & GuardOptions>,
  client: Client,
  makePlan: (round: number) => Promise<SetPlan | ExitCode>,
  onCounts?: (counts: Counts) => void,
): Promise<ExitCode> {
  const { OvertakenError } = await import('../../../engine/runs/set-run.ts');
  for (let round = 1; ; round += 1) {
    const planned = await makePlan(round);
    if (typeof planned === 'number') return planned;
    try {
      const code = await carryOut(context, client, planned, onCounts);
      return code === exitCodes.ok ? exitCodeOfPlan(planned.plan, context.options.detailedExitcode) : code;
    } catch (error) {
      if (!(error instanceof OvertakenError)) throw error;
      if (!isApproved(context.options) || round >= rounds) throw new CliError(error.message, exitCodes.stale, error);
      context.note(`${error.message}: planning again`);
    }
  }
}

/** `onCounts` also receives the counts of an incomplete run. */
export async function carryOut(
  context: Context<CarryOutOptions>,
  client: Client,
  planned: SetPlan,
  onCounts?: (counts: Counts) => void,
): Promise<ExitCode> {
  const { plan } = planned;
  const report = beginReport(context, plan);
  const result = await executeDepsOf(context, client, planned, report)
    .then(async (deps) => (await import('../../../engine/execute.ts')).execute(plan, deps, context.cancel))
    .catch(withLockRemedy)
    .finally(() => report.finish());
  const counts = showOutcome(context, plan, result);
  onCounts?.(counts);
  return exitCodeOf(result);
}

/** Shows the progress of a plan from now on. */
export function beginReport(context: Context, plan: Plan): Reporter {
  const { io, options, isJson } = context;
  const report = reporterFor(io, { json: isJson, color: options.color !== false }, plan.steps.length);
  if (!isJson) context.takeAnnouncements((text) => report.say(text));
  io.deferOptimization?.();
  return report;
}

/** Prints what was done and what failed. */
export function showOutcome(context: Context, plan: Plan, result: RunResult): Counts {
  const { io, options } = context;
  const counts = countDone(plan, result);
  const line = outcomeLine(plan, counts, result);
  context.json(changeSummary(counts, plan.mode, line, io.nowMs()));
  const failures = renderFailures(result, paintFor(colorOf(io, io.stderr, options.color !== false)));
  if (failures !== '') context.note(`\n${failures.trimEnd()}`);
  context.out(`\n${paintOutcome(context, line, result.failures.length === 0 && result.skipped.length === 0)}`);
  return counts;
}

async function executeDepsOf(
  context: Context<CarryOutOptions>,
  client: Client,
  planned: SetPlan,
  report: Reporter,
): Promise<ExecuteDeps> {
  const { io, options } = context;
  const { observed, owner } = planned;
  const [{ SetRun }, { Journal, stateDirectory }, { pause }] = await Promise.all([
    import('../../../engine/runs/set-run.ts'),
    import('../../../engine/runs/journal.ts'),
    import('../../../../server/lib/shared/deadline.ts'),
  ]);
  const parallelism = parseCount('--parallelism', options.parallelism);
  const lockTimeoutMs = parseDuration('--lock-timeout', options.lockTimeout) ?? 0;
  const warn = (text: string): void => report.say(`Warning: ${text}`);
  const inProject = observed.base === undefined ? {} : { project: observed.base };
  const notes = await revisionNotes(context, planned);
  const noted = notes === undefined ? {} : { notes };
  const run = new SetRun({
    ...owner,
    ...inProject,
    client,
    lockTimeoutMs,
    nowMs: io.nowMs,
    pause,
    warn,
    ...noted,
  });
  const place = { directory: stateDirectory(io.env), set: owner.set, host: hostName(context, client) };
  return {
    client,
    run,
    journal: new Journal(place, run.id, io.nowMs, warn),
    emit: report.event.bind(report),
    stop: context.stop,
    nowMs: io.nowMs,
    failFast: options.failFast === true,
    ...withoutUndefined({ parallelism }),
  };
}

async function withLockRemedy(error: unknown): Promise<never> {
  const { LockedError } = await import('../../../engine/notes/lock.ts');
  if (!(error instanceof LockedError)) throw error;
  const remedy = 'wait with --lock-timeout, or remove the lock with gantry force-unlock if no run is active';
  throw new CliError(`${error.message}: ${remedy}`, exitCodes.locked, error);
}

function paintOutcome(context: Output, line: string, isGood: boolean): string {
  const paint = paintFor(context.color);
  return isGood ? paint.bold(paint.green(line)) : paint.bold(line);
}
