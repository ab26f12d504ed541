// Carries out the plan of a set on one host, with its lock, its journal and its revision on the server.
import { pause, within } from '../../../../server/lib/shared/deadline.ts';
import { execute, type BeforeStep } from '../../../engine/execute.ts';
import type { RunResult } from '../../../engine/run-result.ts';
import { Journal, type JournalPlace } from '../../../engine/runs/journal.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import { SetRun, type RunNotes } from '../../../engine/runs/set-run.ts';
import type { StepGuard } from '../../../engine/steps/context.ts';
import type { EngineEvent } from '../../../engine/steps/events.ts';
import type { Client } from '../../../../server/client/client.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface PlanRun extends PlanLimits {
  readonly client: Client;
  readonly made: MadePlan;
  readonly notes: RunNotes;
  /** Directory of the journals, and the host as they name it. */
  readonly journal: Omit<JournalPlace, 'set'>;
  readonly nowMs: () => number;
  readonly emit: (event: EngineEvent) => void;
  readonly warn: (text: string) => void;
  /** Awaited before each step. */
  readonly beforeStep?: BeforeStep | undefined;
  /** Checks each step when it is sent. */
  readonly permit?: StepGuard | undefined;
  /** Starts no further steps. */
  readonly stop: AbortSignal;
}

/** How much at once, and for how long. */
export interface PlanLimits {
  readonly parallelism: number;
  /** Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** How long to wait for the lock of the set. */
  readonly lockTimeoutMs?: number | undefined;
  /** Start no step after the first failure. */
  readonly failFast?: boolean;
  /** Cancels the steps at work; default: the end of the loop. */
  readonly cancel?: AbortSignal;
}

/** Short, so that the lock of a controller that died is soon free for the next one. */
export const runTtlMs = 9000;

/** Throws LockedError and OvertakenError; failures of steps are in the result. */
export async function runPlan(run: PlanRun): Promise<RunResult> {
  const { client, made, notes, permit, nowMs, emit, warn, stop, parallelism, timeoutMs, lockTimeoutMs = 0 } = run;
  const { plan, observed, owner } = made;
  const setRun = new SetRun({
    ...owner,
    ...withoutUndefined({ project: observed.base }),
    client,
    lockTimeoutMs,
    ttlMs: runTtlMs,
    nowMs,
    pause,
    warn,
    notes,
  });
  const journal = new Journal({ ...run.journal, set: owner.set }, setRun.id, nowMs, warn);
  const deps = {
    client,
    run: setRun,
    journal,
    permit,
    beforeStep: run.beforeStep,
    emit,
    stop,
    nowMs,
    parallelism,
    failFast: run.failFast === true,
  };
  return within(timeoutMs, (limited) => execute(plan, deps, limited), run.cancel ?? stop);
}
