// `gantry plan`: shows what apply (or, with --destroy, destroy) would do; changes nothing.
import type { CliContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { loadSet, makePlan, printPlan, withClient } from '../session.ts';
import { usageError } from '../usage-error.ts';

export async function plan(context: CliContext, args: readonly string[], isDestroy: boolean): Promise<ExitCode> {
  const { options, io } = context;
  if (!['text', 'plan-json', undefined].includes(options.format)) throw usageError('--format is text or plan-json');
  const loaded = await loadSet(context, args);
  const made = await withClient(context, (client) =>
    makePlan(context, client, loaded, isDestroy ? 'destroy' : 'apply'),
  );
  if (options.format === 'plan-json') {
    const { planJson } = await import('../../core/plan-json.ts');
    io.stdout.write(`${JSON.stringify(planJson(made), null, 2)}\n`);
  } else {
    await printPlan(context, made, 'plan');
  }
  if (made.guards.length > 0) return exitCodes.guard;
  const { hasChanges } = await import('../../core/summary.ts');
  return options.detailedExitcode === true && hasChanges(made) ? exitCodes.changes : exitCodes.ok;
}
