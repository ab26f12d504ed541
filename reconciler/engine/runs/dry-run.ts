// Applies a plan to a dry-run copy of the server and records the outcome of each step.
import { tryable, type DryRun, type Trial } from '../../core/plan/dry-run.ts';
import type { Observed } from '../../core/documents/observed.ts';
import type { Plan, Step } from '../../core/plan/plan.ts';
import { execute, type ExecuteDeps } from '../execute.ts';
import type { EngineEvent } from '../steps/events.ts';
import type { RunResult } from '../run-result.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export type DryRunDeps = Omit<ExecuteDeps, 'emit' | 'journal'> & {
  readonly observed: Pick<Observed, 'projects' | 'base'>;
};

/** `client` is a client of the copy, `observed` the server that was copied. Throws the errors of `execute`. */
export async function dryRun(
  plan: Plan,
  { observed, ...deps }: DryRunDeps,
  signal?: AbortSignal,
): Promise<DryRun & { readonly result: RunResult }> {
  const { plan: tried, untried } = tryable(plan, observed);
  const found = new Map<string, Trial>();
  const emit = (event: EngineEvent): void => {
    const trial = trialOf(event);
    if (trial !== undefined) found.set(event.step.id, trial);
  };
  const result = await execute(tried, { ...deps, emit }, signal);
  const trials = plan.steps.flatMap((step): readonly Trial[] => {
    const why = untried.get(step.id);
    const trial = why === undefined ? found.get(step.id) : { ...of(step), verdict: 'untried' as const, why };
    return trial === undefined ? [] : [trial];
  });
  return { trials, result };
}

const of = ({ id, address, action }: Step): Pick<Trial, 'stepId' | 'address' | 'action'> => ({
  stepId: id,
  address,
  action,
});

/** The verdict of a final event; undefined for progress events. */
function trialOf(event: EngineEvent): Trial | undefined {
  const step = of(event.step);
  if (event.type === 'apply_skipped') return { ...step, verdict: 'unreached', why: event.because };
  if (event.type === 'apply_complete')
    return { ...step, verdict: 'accepted', ...withoutUndefined({ why: event.note }) };
  if (event.type !== 'apply_errored') return undefined;
  const { why, code, remedy, details } = event.failure;
  return { ...step, verdict: 'refused', why, code, remedy, ...withoutUndefined({ details }) };
}
