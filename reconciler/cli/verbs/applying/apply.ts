// `gantry apply` and `gantry destroy`: plan, ask, carry out, report.
import type { Client } from '../../../../server/client/client.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { SavedPlan } from '../../../core/history/saved-plan.ts';
import type { ApplyDeps } from '../../../engine/runs/apply.ts';
import { confirm } from '../../session/confirm.ts';
import type { Context, Run } from '../../session/context.ts';
import { exitCodeOf, exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { colorOf } from '../../output/safe-io.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { parseCount, parseDuration } from '../../flags/parse-values.ts';
import { dryRunKind, isApproved, type GuardOptions, type RunOptions } from '../../flags/plan-flags.ts';
import type { ApplyOptions } from '../../flags/plan-flags.ts';
import type { PreseedOptions } from './applying-verbs.ts';
import { countDone, outcomeLine, renderFailures, type Counts } from '../../output/outcome.ts';
import { paintFor } from '../../output/paint.ts';
import { changeSummary } from '../../output/render-json.ts';
import { requireNoRefusals } from './refused-parts.ts';
import { messageOf, revisionNotes } from '../../session/revision.ts';
import { reporterFor, type Reporter } from '../../output/reporter.ts';
import { hostName, withClient } from '../../session/connect.ts';
import { resume } from '../../session/resume.ts';
import { loadSet } from '../../session/load-set.ts';
import { traceVerb } from '../../session/trace-verb.ts';
import { planOf, type Planned } from '../../session/make-plan.ts';
import { printPlan } from '../../session/show-plan.ts';
import { planAgain, savedPlanAt } from '../planning/saved-plan.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { CliError } from '../../errors/usage-error.ts';

type CarryOutOptions = HostOptions & RunOptions;

export const apply = applyIn('apply');
export const destroy = applyIn('destroy');

function applyIn(mode: Plan['mode']): Run<ApplyOptions> {
  return async (context, args, fleet) => {
    if (fleet !== undefined) return (await import('./apply-on-hosts.ts')).applyOnHosts(context, fleet, args, mode);
    parseCount('--parallelism', context.options.parallelism);
    parseDuration('--lock-timeout', context.options.lockTimeout);
    messageOf(context);
    const dryRun = dryRunKind(context.options);
    if (dryRun !== undefined) return (await import('./dry-apply.ts')).dryApply(context, args, mode, dryRun);
    return traceVerb(context, mode, () => applyNow(context, args, mode));
  };
}

async function applyNow(
  context: Context<ApplyOptions>,
  args: readonly string[],
  mode: Plan['mode'],
): Promise<ExitCode> {
  const saved = mode === 'apply' ? await savedPlanAt(args, context) : undefined;
  if (saved !== undefined) return withClient(context, (client) => applySaved(context, client, saved));
  const loaded = await loadSet(context, args);
  return withClient(context, async (client) => {
    await resume(context, client, setNameOf(context.options, loaded.documents));
    return replanWhenOvertaken(context, client, async () => {
      const planned = await planOf(context, client, loaded, mode);
      const { plan } = planned;
      await printPlan(context, plan, mode);
      if (plan.steps.length === 0) return plan.guards.length > 0 ? exitCodes.guard : exitCodes.ok;
      requireNoRefusals(context.options, plan);
      await confirm(context, question(mode));
      return planned;
    });
  });
}

/** The preseed document of a file, or of stdin. */
export const preseed: Run<PreseedOptions> = (context, [file = '-']) =>
  apply({ ...context, options: { ...context.options, autoApprove: true } }, [file]);

/** Carries out exactly the saved plan without asking again; exit code 3 when it is stale. */
async function applySaved(context: Context<ApplyOptions>, client: Client, saved: SavedPlan): Promise<ExitCode> {
  await resume(context, client, saved.set);
  const planned = await planAgain(context, client, saved);
  const { plan } = planned;
  if (context.isJson) await printPlan(context, plan, saved.mode);
  if (plan.steps.length === 0) {
    context.out('The plan is already carried out.');
    return plan.guards.length > 0 ? exitCodes.guard : exitCodes.ok;
  }
  requireNoRefusals(context.options, plan);
  const { OvertakenError } = await import('../../../engine/runs/set-run.ts');
  const code = await carryOut(context, client, planned).catch((error: unknown) => {
    throw error instanceof OvertakenError ? new CliError(error.message, exitCodes.stale, error) : error;
  });
  if (code !== exitCodes.ok) return code;
  return codeOfDone(context, plan);
}

/** How often an approved apply plans again because another run of the set came first. */
const rounds = 5;

/** Makes a plan and carries it out, or exits with the code of `makePlan`. Makes a new plan when another run of the set came first. */
export async function replanWhenOvertaken(
  context: Context<CarryOutOptions & GuardOptions>,
  client: Client,
  makePlan: (round: number) => Promise<Planned | ExitCode>,
  tell?: (counts: Counts) => void,
): Promise<ExitCode> {
  const { OvertakenError } = await import('../../../engine/runs/set-run.ts');
  for (let round = 1; ; round += 1) {
    const planned = await makePlan(round);
    if (typeof planned === 'number') return planned;
    try {
      const code = await carryOut(context, client, planned, tell);
      return code === exitCodes.ok ? await codeOfDone(context, planned.plan) : code;
    } catch (error) {
      if (!(error instanceof OvertakenError)) throw error;
      if (!isApproved(context.options) || round >= rounds) throw new CliError(error.message, exitCodes.stale, error);
      context.note(`${error.message}: planning again`);
    }
  }
}

/** The exit code of a plan whose steps are all done. */
async function codeOfDone({ options }: Context<GuardOptions>, plan: Plan): Promise<ExitCode> {
  if (plan.guards.length > 0) return exitCodes.guard;
  const { hasDifferences } = await import('../../../core/plan/summary.ts');
  return options.detailedExitcode === true && hasDifferences(plan) ? exitCodes.changes : exitCodes.ok;
}

const question = (mode: Plan['mode']): string =>
  mode === 'apply' ? 'Do you want to perform these actions?' : 'Do you really want to destroy all of this?';

/** `tell` receives the counts, also of an incomplete run. */
export async function carryOut(
  context: Context<CarryOutOptions>,
  client: Client,
  planned: Planned,
  tell?: (counts: Counts) => void,
): Promise<ExitCode> {
  const { io, options } = context;
  const { plan } = planned;
  const report = reporterFor(io, { json: context.isJson, color: options.color !== false }, plan.steps.length);
  if (!context.isJson) context.announcer.say = (text) => report.say(text);
  const result = await applyDepsOf(context, client, planned, report)
    .then(async (deps) => (await import('../../../engine/runs/apply.ts')).applyPlan(plan, deps, context.cancel))
    .catch(withLockRemedy)
    .finally(() => report.finish());
  const counts = countDone(plan, result);
  tell?.(counts);
  const line = outcomeLine(plan, counts, result);
  context.json(changeSummary(counts, plan.mode, line, io.nowMs()));
  const failures = renderFailures(result, paintFor(colorOf(io, io.stderr, options.color !== false)));
  if (failures !== '') context.note(`\n${failures.trimEnd()}`);
  context.out(`\n${paintOutcome(context, line, result.failures.length === 0)}`);
  return exitCodeOf(result);
}

async function applyDepsOf(
  context: Context<CarryOutOptions>,
  client: Client,
  planned: Planned,
  report: Reporter,
): Promise<ApplyDeps> {
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
  const runs = observed.sets?.get(owner.set)?.runs ?? 0;
  const inProject = observed.base === undefined ? {} : { project: observed.base };
  const notes = await revisionNotes(context, planned);
  const noted = notes === undefined ? {} : { notes };
  const run = new SetRun({
    ...owner,
    ...inProject,
    client,
    runs,
    lockTimeoutMs,
    nowMs: io.nowMs,
    pause,
    warn,
    ...noted,
  });
  const place = { directory: stateDirectory(io.env), set: owner.set, host: hostName(context, client) };
  io.deferOptimization?.();
  return {
    client,
    run,
    journal: new Journal(place, run.id, io.nowMs, warn),
    emit: report.event.bind(report),
    stop: context.stop,
    nowMs: io.nowMs,
    failFast: options.failFast === true,
    ...(parallelism === undefined ? {} : { parallelism }),
  };
}

async function withLockRemedy(error: unknown): Promise<never> {
  const { LockedError } = await import('../../../engine/notes/lock.ts');
  if (!(error instanceof LockedError)) throw error;
  const remedy = 'wait with --lock-timeout, or remove the lock with gantry force-unlock if no run is active';
  throw new CliError(`${error.message}: ${remedy}`, exitCodes.locked, error);
}

function paintOutcome(context: Context, line: string, isGood: boolean): string {
  const paint = paintFor(context.color);
  return isGood ? paint.bold(paint.green(line)) : paint.bold(line);
}
