// The summary of an apply or destroy: what was done, what failed and what to do about it. Pure.
import type { Plan, ResourceChange } from '../../core/plan/plan.ts';
import type { RunResult } from '../../engine/run-result.ts';
import type { Paint } from './paint.ts';

export interface Counts {
  readonly add: number;
  readonly change: number;
  readonly remove: number;
}

/** Counts objects by their successful steps. */
export function countDone(plan: Plan, result: RunResult): Counts {
  const done = new Set(result.done);
  const actions = new Map(plan.steps.filter(({ id }) => done.has(id)).map((step) => [step.id, step.action]));
  const count = (test: (change: ResourceChange, actionsDone: readonly string[]) => boolean): number =>
    plan.changes.filter((change) =>
      test(
        change,
        change.steps.flatMap((id) => actions.get(id) ?? []),
      ),
    ).length;
  return {
    add: count((_, of) => of.includes('create') || of.includes('rebuild')),
    change: count(
      (change, of) =>
        change.action !== 'create' &&
        change.action !== 'replace' &&
        !of.includes('delete') &&
        change.action !== 'delete' &&
        of.length > 0,
    ),
    remove: count((_, of) => of.includes('delete') || of.includes('rebuild')),
  };
}

export function outcomeLine(
  { mode, guards }: Pick<Plan, 'mode' | 'guards'>,
  counts: Counts,
  result: RunResult,
): string {
  const isDone = result.failures.length === 0 && result.skipped.length === 0;
  const verb = mode === 'apply' ? 'Apply' : 'Destroy';
  const how = isDone
    ? guards.length === 0
      ? 'complete!'
      : 'done in part:'
    : result.isInterrupted
      ? 'interrupted:'
      : 'incomplete:';
  const failed = result.failures.length === 0 ? '' : `, ${result.failures.length} failed`;
  const skipped = result.skipped.length === 0 ? '' : `, ${result.skipped.length} steps not done`;
  const refused = guards.length === 0 ? '' : `, ${guards.length} refused`;
  return `${verb} ${how} ${counts.add} added, ${counts.change} changed, ${counts.remove} destroyed${failed}${skipped}${refused}.`;
}

/** A block of lines for each failure; empty without failures. */
export function renderFailures(result: RunResult, paint: Paint): string {
  return result.failures
    .map(
      ({ what, why, remedy }) => `${paint.red('Error:')} ${paint.bold(`cannot ${what}`)}\n  ${why}\n  -> ${remedy}\n`,
    )
    .join('\n');
}
