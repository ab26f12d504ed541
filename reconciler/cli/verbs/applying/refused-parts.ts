// Decides whether a plan with refused parts may be carried out. Pure.
import type { Plan } from '../../../core/plan/plan.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import type { RunOptions } from '../../flags/plan-flags.ts';
import { CliError } from '../../errors/usage-error.ts';
import { namesText } from '../../../../server/api/text/names-text.ts';

/** Why the plan is not carried out; undefined when nothing is refused or --partial allows the rest. */
export function refusalOf({ partial }: Pick<RunOptions, 'partial'>, { guards }: Plan): string | undefined {
  if (guards.length === 0 || partial === true) return undefined;
  const names = [...new Set(guards.map(({ address }) => address))];
  const refused =
    guards.length === 1 ? 'One part of the plan is refused' : `${guards.length} parts of the plan are refused`;
  return `${refused} (${namesText(names)}), so nothing is done: follow the advice for each, or apply the rest with --partial`;
}

/** Throws with exit code 4. */
export function requireNoRefusals(options: Pick<RunOptions, 'partial'>, plan: Plan): void {
  const why = refusalOf(options, plan);
  if (why !== undefined) throw new CliError(why, exitCodes.guard);
}
