// Counts of a plan, and the line that shows them.
import type { Plan, PlanSummary, ResourceChange } from './plan.ts';

export const isChange = (change: ResourceChange): boolean =>
  change.action !== 'no-op' || change.power !== undefined || change.guard !== undefined || change.steps.length > 0;

/** True when the plan has steps, even if they only write records. */
export const hasChanges = (plan: Plan): boolean => plan.changes.some(isChange);

export const isTakeover = (change: ResourceChange): boolean => change.isTakeover === true && change.guard === undefined;

/** True when the plan changes or refuses something, as exit codes report it. Taking over an object that is as declared does not count. */
export const hasDifferences = (plan: Plan): boolean =>
  plan.changes.some((change) => isChange(change) && !isTakeover(change));

export const isTakeoverOnly = (plan: Plan): boolean => hasChanges(plan) && !hasDifferences(plan);

export function summarize(changes: readonly ResourceChange[]): PlanSummary {
  const count = (test: (change: ResourceChange) => boolean): number => changes.filter(test).length;
  const replace = count((change) => change.action === 'replace');
  return {
    add: count((change) => change.action === 'create') + replace,
    change: count((change) => change.action === 'update' || (change.action === 'no-op' && change.power !== undefined)),
    destroy: count((change) => change.action === 'delete') + replace,
    restart: count((change) => change.power === 'restart'),
    replace,
    claim: count((change) => change.action === 'no-op' && change.claims.length > 0 && change.steps.length > 0),
    power: count((change) => change.action === 'no-op' && (change.power === 'start' || change.power === 'stop')),
  };
}

/** `Plan: 2 to add, 1 to change (1 restart), 0 to destroy`. */
export function summaryLine(summary: PlanSummary): string {
  const restarts = summary.restart === 0 ? '' : ` (${summary.restart} restart${summary.restart === 1 ? '' : 's'})`;
  const claims = summary.claim === 0 ? '' : `, ${summary.claim} to take over as they are`;
  return `Plan: ${summary.add} to add, ${summary.change} to change${restarts}, ${summary.destroy} to destroy${claims}`;
}
