// Carries out a plan in the name of its set: the set's lock and notes around it, the journal beside it.
import type { Plan } from '../../core/plan/plan.ts';
import { execute, type ExecuteDeps, type RunResult } from '../execute.ts';
import type { Journal } from './journal.ts';
import type { SetRun } from './set-run.ts';

export interface ApplyDeps extends Omit<ExecuteDeps, 'hash' | 'onBegun'> {
  /** Absent: nothing is locked and nothing recorded. */
  readonly run?: SetRun;
  readonly journal?: Journal;
}

/** Throws what `SetRun.begin` throws; what happens to steps is in the result. */
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
