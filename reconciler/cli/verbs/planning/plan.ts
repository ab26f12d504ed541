// `gantry plan`: shows what apply (or, with --destroy, destroy) would do, and saves it with --out; changes nothing.
import type { Run, Context } from '../../session/context.ts';
import type { DryRun } from '../../../core/plan/dry-run.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import { exitCodeOfPlan } from '../../errors/exit-codes.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { dryRunKind } from '../../flags/plan-flags.ts';
import type { PlanVerbOptions } from './planning-verbs.ts';
import { writePlan } from './saved-plan.ts';
import { loadSet } from '../../session/load-set.ts';
import { planOf } from '../../session/plan.ts';
import { printPlan, refuseChanges } from '../../session/show-plan.ts';
import { withClient } from '../../session/connect.ts';
import { usageError } from '../../errors/usage-error.ts';

const formats = ['text', 'json', 'yaml', 'markdown', 'junit'] as const;
type Format = (typeof formats)[number];

export const plan: Run<PlanVerbOptions> = async (context, args, fleet) => {
  const { options } = context;
  if (fleet !== undefined)
    return (await import('./plan-on-hosts.ts')).showFleetPlan(
      context,
      fleet,
      args,
      options.destroy === true ? 'destroy' : 'apply',
    );
  const format = planFormatOf(options);
  const isTried = dryRunKind(options) === 'server';
  const loaded = await loadSet(context, args);
  const { made, tried } = await withClient(context, async (client) => {
    const planned = await planOf(context, client, loaded, options.destroy === true ? 'destroy' : 'apply');
    if (options.out !== undefined) await writePlan(context, client, loaded, planned, args, options.out);
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
