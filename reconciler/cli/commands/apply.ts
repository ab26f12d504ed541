// `gantry apply` and `gantry destroy`: plan, ask, carry out, report.
import type { Client } from '../../../server/client/client.ts';
import type { Plan } from '../../core/plan.ts';
import { confirm } from '../confirm.ts';
import type { CliContext, OpenContext } from '../context.ts';
import { exitCodeOf, exitCodes, type ExitCode } from '../exit-codes.ts';
import { hasColor } from '../io.ts';
import { parseCount } from '../options.ts';
import { countDone, outcomeLine, renderFailures } from '../outcome.ts';
import { paintFor } from '../paint.ts';
import { changeSummary } from '../render-json.ts';
import { reporterFor } from '../reporter.ts';
import { loadSet, makePlan, printPlan, withClient } from '../session.ts';

export async function apply(context: OpenContext, args: readonly string[], mode: Plan['mode']): Promise<ExitCode> {
  const parallelism = parseCount('--parallelism', context.options.parallelism);
  const loaded = await loadSet(context, args);
  return withClient(context, async (client) => {
    const plan = await makePlan(context, client, loaded, mode);
    await printPlan(context, plan, mode);
    if (plan.steps.length === 0) return plan.guards.length > 0 ? exitCodes.guard : exitCodes.ok;
    await confirm(context, question(mode));
    const code = await carryOut(context, client, plan, parallelism);
    if (code !== exitCodes.ok) return code;
    if (plan.guards.length > 0) return exitCodes.guard;
    return context.options.detailedExitcode === true ? exitCodes.changes : exitCodes.ok;
  });
}

const question = (mode: Plan['mode']): string =>
  mode === 'apply' ? 'Do you want to perform these actions?' : 'Do you really want to destroy all of this?';

async function carryOut(
  context: OpenContext,
  client: Client,
  plan: Plan,
  parallelism: number | undefined,
): Promise<ExitCode> {
  const { io, options } = context;
  const { execute } = await import('../../engine/execute.ts');
  const report = reporterFor(io, { json: context.isJson, color: options.color !== false }, plan.steps.length);
  if (!context.isJson) context.onInterrupt = (text) => report.say(text);
  const result = await execute(
    plan,
    {
      client,
      emit: (event) => report.event(event),
      stop: context.stop,
      nowMs: io.nowMs,
      failFast: options.failFast === true,
      ...(parallelism === undefined ? {} : { parallelism }),
    },
    context.cancel,
  ).finally(() => report.finish());
  const counts = countDone(plan, result);
  const line = outcomeLine(plan.mode, counts, result);
  context.json(changeSummary(counts, plan.mode, line, io.nowMs()));
  const failures = renderFailures(result, paintFor(hasColor(io.env, io.stderr, options.color !== false)));
  if (failures !== '') context.note(`\n${failures.trimEnd()}`);
  context.out(`\n${paintOutcome(context, line, result.failures.length === 0)}`);
  return exitCodeOf(result);
}

function paintOutcome(context: CliContext, line: string, isGood: boolean): string {
  const paint = paintFor(context.color);
  return isGood ? paint.bold(paint.green(line)) : paint.bold(line);
}
