// Applies a plan for its set: takes the set's lock, writes the notes and the journal.
import type { Plan } from '../../core/plan/plan.ts';
import { execute, type ExecuteDeps, type RunResult } from '../execute.ts';
import type { Journal } from './journal.ts';
import type { SetRun } from './set-run.ts';

export interface ApplyDeps extends Omit<ExecuteDeps, 'hash' | 'onBegun'> {
  /** Without it nothing is locked and nothing recorded. */
  readonly run?: SetRun;
  readonly journal?: Journal;
}

/** Throws the errors of `SetRun.begin`; failures of steps are in the result. */
export async function applyPlan(plan: Plan, deps: ApplyDeps, signal?: AbortSignal): Promise<RunResult> {
  const { run, journal, ...rest } = deps;
  await run?.begin(plan, signal ?? new AbortController().signal);
  let result: RunResult | undefined;
  try {
    journal?.begin(plan);
    const emit: ExecuteDeps['emit'] = (event) => {
      journal?.event(event);
      deps.emit(event);
    };
    const onBegun: ExecuteDeps['onBegun'] = (step, operation) => journal?.begun(step, operation);
    const hash = run === undefined ? {} : { hash: run.hash };
    result = await execute(plan, { ...rest, ...hash, emit, onBegun }, signal);
    return result;
  } finally {
    await run?.finish(result);
    journal?.finish(result);
  }
}
