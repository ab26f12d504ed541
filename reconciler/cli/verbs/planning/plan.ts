// `gantry plan`, for one host or several: shows what apply (or, with --destroy, destroy) would do, and saves it with --out.
// Changes nothing.
import type { Context, Fleet, Run } from '../../session/context.ts';
import type { DryRun } from '../../../core/plan/dry-run.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import { type ExitCode, exitCodeOfPlan } from '../../errors/exit-codes.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { type ApplyOptions, dryRunKind } from '../../flags/plan-flags.ts';
import type { PlanVerbOptions } from './planning-verbs.ts';
import { planToSave, writePlan, writeWhole } from './saved-plan.ts';
import { loadSet } from '../../session/load-set.ts';
import { planOf } from '../../session/plan.ts';
import { printPlan, refuseChanges } from '../../session/show-plan.ts';
import { withClient } from '../../session/connect.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import type { SavedPlan } from '../../../core/history/saved-plan.ts';
import { worstCode } from '../../hosts/each-host.ts';
import { type FleetPlan, fleetPlanOf } from './fleet-plan.ts';
import { loadHosts } from '../../hosts/load-hosts.ts';
import { planHasDifferences, planHosts } from './plan-hosts.ts';
import { type PlanOutcome, plansJson, plansLine, plansMarkdown, renderPlans } from './render-plans.ts';

const formats = ['text', 'json', 'yaml', 'markdown', 'junit'] as const;
type Format = (typeof formats)[number];

export const plan: Run<PlanVerbOptions> = async (context, args, fleet) => {
  const { options } = context;
  const mode = options.destroy === true ? 'destroy' : 'apply';
  if (fleet !== undefined) return showFleetPlan(context, fleet, args, mode);
  const format = planFormatOf(options);
  const isTried = dryRunKind(options) === 'server';
  const loaded = await loadSet(context, args);
  const { made, tried } = await withClient(context, async (client) => {
    const planned = await planOf(context, client, loaded, mode);
    if (options.out !== undefined) await writePlan(context, { client, loaded, planned }, args, options.out);
    const tried = isTried ? await (await import('./dry-run.ts')).tryPlan(context, client, planned) : undefined;
    return { made: planned.plan, tried };
  });
  await show(context, made, format, tried);
  if (tried !== undefined && format === 'text')
    await (await import('./dry-run.ts')).showTried(context, tried, loaded.locate);
  if (format !== 'text') await refuseChanges(context, made);
  if (options.out !== undefined)
    context.note(`Saved the plan to ${options.out}. To carry it out: gantry apply ${options.out}`);
  return exitCodeOfPlan(made, options.detailedExitcode, tried?.result);
};

function planFormatOf({ output, format }: PlanVerbOptions): Format {
  if (format !== undefined && !['text', 'plan-json'].includes(format))
    throw usageError('--format is text or plan-json');
  return formatOf(output ?? (format === 'plan-json' ? 'json' : 'text'), formats);
}

async function show(
  context: Context<PlanVerbOptions>,
  made: Plan,
  format: Format,
  tried: DryRun | undefined,
): Promise<void> {
  if (format === 'junit') {
    const { renderJunit } = await import('../../../core/render/render-junit.ts');
    context.io.stdout.write(renderJunit(made));
  } else if (format === 'json' || format === 'yaml') {
    const { planJson } = await import('../../../core/render/plan-json.ts');
    const more =
      tried === undefined ? {} : { dry_run: (await import('../../../core/plan/dry-run.ts')).dryRunJson(tried) };
    const whole = { ...planJson(made), ...more };
    const text =
      format === 'json'
        ? `${JSON.stringify(whole, null, 2)}\n`
        : (await import('../../../manifest/text/yaml-text.ts')).yamlText(whole);
    context.io.stdout.write(text);
  } else if (format === 'markdown') {
    const { renderMarkdown } = await import('../../../core/render/render-markdown.ts');
    context.io.stdout.write(renderMarkdown(made));
    if (tried === undefined) return;
    context.io.stdout.write((await import('../../../core/plan/dry-run.ts')).dryRunMarkdown(tried));
  } else await printPlan(context, made, 'plan');
}

const fleetFormats = ['text', 'json', 'markdown'] as const;

export async function showFleetPlan(
  context: Context<ApplyOptions & PlanVerbOptions>,
  fleet: Fleet,
  args: readonly string[],
  mode: Plan['mode'],
): Promise<ExitCode> {
  const { options } = context;
  const format = formatOf(options.output, fleetFormats);
  const plans = new Map<string, SavedPlan>();
  const outcomes = await planHosts(context, await loadHosts(context, fleet, args), {
    mode,
    after: async (one, client, planned) => {
      if (options.out !== undefined && !one.isUnselected)
        plans.set(one.host.name, await planToSave(one.context, { client, loaded: one.loaded, planned }, args));
    },
  });
  const code = await showPlansOrDryRuns(context, outcomes, format);
  if (options.out === undefined) return code;
  if (outcomes.some(({ failure }) => failure !== undefined)) {
    context.note('The plan is not saved, since it lacks some hosts.');
    return code;
  }
  // In the order of the hosts file, not of the answers.
  const kept = outcomes.flatMap(({ host: { name } }) => {
    const plan = plans.get(name);
    return plan === undefined ? [] : [[name, plan] as const];
  });
  await writeWhole(options.out, fleetPlanOf(new Map(kept), context.io.nowMs()));
  context.note(
    `Saved the plan to ${options.out}. To carry it out: gantry apply ${options.out} --hosts ${options.hosts ?? ''}`,
  );
  return code;
}

/** `apply --dry-run` of a saved plan: nothing is carried out, except on copies with `server`. */
export async function dryRunSaved(context: Context<ApplyOptions>, fleet: Fleet, saved: FleetPlan): Promise<ExitCode> {
  const { planSaved } = await import('./fleet-plan.ts');
  return showPlansOrDryRuns(context, await planSaved(context, fleet, saved), 'text');
}

/** Tries the plans on copies first with `--dry-run=server`. */
export async function showPlansOrDryRuns(
  context: Context<ApplyOptions>,
  planned: readonly PlanOutcome[],
  format: (typeof fleetFormats)[number],
): Promise<ExitCode> {
  const tries = dryRunKind(context.options) === 'server' ? await import('./dry-run.ts') : undefined;
  const outcomes = tries === undefined ? planned : await tries.tryHosts(context, planned);
  if (format === 'json') context.io.stdout.write(`${JSON.stringify(plansJson(outcomes), null, 2)}\n`);
  else if (format === 'markdown') context.io.stdout.write(plansMarkdown(outcomes));
  else {
    await showPlans(context, outcomes, 'plan');
    await tries?.showTriedHosts(context, outcomes);
  }
  refuseFleetChanges(context, outcomes);
  return codeOfPlans(outcomes, context.options.detailedExitcode === true);
}

export function codeOfPlans(outcomes: readonly PlanOutcome[], isDetailed: boolean): ExitCode {
  return worstCode(
    outcomes.map((one) =>
      one.failure === undefined
        ? exitCodeOfPlan(one.value.planned.plan, isDetailed, one.value.tried?.result)
        : one.failure.code,
    ),
  );
}

/** Throws under --expect-no-changes if any host has changes, before any host changes. */
export function refuseFleetChanges({ options }: Context<ApplyOptions>, outcomes: readonly PlanOutcome[]): void {
  if (options.expectNoChanges !== true) return;
  const changed = outcomes.flatMap((one) =>
    one.failure === undefined && planHasDifferences(one.value) ? [one.host.name] : [],
  );
  if (changed.length > 0)
    throw commandError(`There are changes on ${changed.join(', ')}, and --expect-no-changes was given`);
}

/** Prints text, or JSON lines of each host and one for all. */
export async function showPlans(
  context: Context<ApplyOptions>,
  outcomes: readonly PlanOutcome[],
  operation: 'plan' | 'apply' | 'destroy',
): Promise<void> {
  if (!context.isJson) {
    const showsSecrets = context.options.showSecrets === true;
    context.out(renderPlans(outcomes, { color: context.color, showsSecrets }).trimEnd());
    return;
  }
  const [{ jsonLine, planLines }, { summaryLine }] = await Promise.all([
    import('../../output/render-json.ts'),
    import('../../../core/plan/summary.ts'),
  ]);
  for (const outcome of outcomes) {
    if (outcome.failure === undefined) {
      const { context: own, planned } = outcome.value;
      const { plan } = planned;
      for (const line of planLines(plan, operation, summaryLine(plan.summary), own.io.nowMs())) own.json(line);
    } else {
      const { message, code } = outcome.failure;
      const fields = { host: outcome.host.name, diagnostic: { severity: 'error', summary: message, detail: '' } };
      context.json(jsonLine('diagnostic', message, { ...fields, exit_code: code }, context.io.nowMs(), 'error'));
    }
  }
  const fields = { hosts: outcomes.map(({ host, failure }) => ({ host: host.name, exit_code: failure?.code ?? 0 })) };
  context.json(jsonLine('fleet_plan', plansLine(outcomes), fields, context.io.nowMs()));
}
