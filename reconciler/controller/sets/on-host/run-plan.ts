// Carries out the plan of a set on one host: its lock, its journal, its revision on the server.
import { pause, within } from '../../../../server/lib/shared/deadline.ts';
import { execute } from '../../../engine/execute.ts';
import type { RunResult } from '../../../engine/run-result.ts';
import { cutWritten } from '../../../engine/runs/cut-written.ts';
import { RevisionNotes } from '../../../engine/runs/history.ts';
import { Journal } from '../../../engine/runs/journal.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import { SetRun } from '../../../engine/runs/set-run.ts';
import type { EngineEvent } from '../../../engine/steps/events.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { LoadedSet } from '../load-revision.ts';

export interface PlanRun {
  readonly client: Client;
  readonly made: MadePlan;
  readonly loaded: LoadedSet;
  readonly revision: string;
  readonly who: string;
  readonly message: string;
  /** Repairs leave no revision of their own. */
  readonly isRepair: boolean;
  readonly rollout?: string;
  /** Directory of the journals of this host. */
  readonly stateDir: string;
  readonly parallelism: number;
  readonly timeoutMs: number;
  readonly nowMs: () => number;
  readonly emit: (event: EngineEvent) => void;
  readonly warn: (text: string) => void;
  /** Starts no further steps. */
  readonly stop: AbortSignal;
}

/** The lock of a controller that died is free for the next one soon. */
export const runTtlMs = 9000;

/** Throws LockedError and OvertakenError; failures of steps are in the result. */
export async function runPlan(run: PlanRun, signal: AbortSignal): Promise<RunResult> {
  const { client, made, stateDir, nowMs, emit, warn, parallelism, timeoutMs, stop } = run;
  const { plan, observed, owner } = made;
  const setRun = new SetRun({
    ...owner,
    ...(observed.base === undefined ? {} : { project: observed.base }),
    client,
    runs: observed.sets?.get(owner.set)?.runs ?? 0,
    lockTimeoutMs: 0,
    ttlMs: runTtlMs,
    nowMs,
    pause,
    warn,
    notes: notesOf(run),
  });
  const journal = new Journal({ directory: stateDir, set: owner.set, host: client.host }, setRun.id, nowMs, warn);
  const deps = { client, run: setRun, journal, emit, stop, nowMs, parallelism };
  return within(timeoutMs, (limited) => execute(plan, deps, limited), signal);
}

function notesOf({ made, loaded, revision, who, message, isRepair, rollout }: PlanRun): RevisionNotes {
  const { plan, owner, images } = made;
  const planned = new Set<string>(plan.changes.map(({ address }) => address));
  const written = loaded.loaded.written.filter(({ address }) => planned.has(address));
  return new RevisionNotes(owner.set, {
    who,
    message,
    commit: revision,
    ...(isRepair || rollout === undefined ? {} : { rollout }),
    ...(isRepair ? { onlyNew: true } : {}),
    isPartial: plan.isPartial === true || written.length < loaded.loaded.written.length,
    documents: cutWritten(written, owner.hash),
    images: Object.fromEntries(images),
  });
}
