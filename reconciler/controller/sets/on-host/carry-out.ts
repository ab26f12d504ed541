// Carries out the plan of one host as part of a run, which is a rollout or a repair of this host alone.
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { OvertakenError } from '../../../engine/runs/set-run.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import { notesOf } from '../../../engine/runs/notes-of.ts';
import { rolloutOf, type HostTarget, type SetOnHostDeps } from './host-target.ts';
import type { ComparisonTime } from '../../traces/run-trace.ts';
import { waveGate } from '../hooks/wave-gate.ts';
import { changesOn } from '../object-history.ts';
import { cleaned } from '../../decide/withhold.ts';
import { stepGuard } from '../../tenancy/step-guard.ts';
import { runPlan, type PlanRun } from './run-plan.ts';

export interface HostWork {
  readonly made: MadePlan;
  readonly target: HostTarget;
  /** The host does not have the documents of the target yet. */
  readonly isNew: boolean;
  readonly planned: ComparisonTime;
}

export type Failures = Awaited<ReturnType<typeof runPlan>>['failures'];

/** `onEnd` takes the outcome before the run ends: the failures, and one text about them. */
export async function carryOut(
  deps: SetOnHostDeps,
  { made, target, isNew, planned }: HostWork,
  onEnd: (failures: Failures, failure: string | undefined) => void,
  signal: AbortSignal,
): Promise<void> {
  const { link, beginOwn, claim, facts, hooks, journal, limits, nowMs, log, onChanges } = deps;
  const { name } = link.host;
  const { documents } = target.loaded.loaded;
  const { tenant, project } = deps.config;
  const clean = (text: string): string => cleaned(text, documents);
  const rollout = rolloutOf(target, isNew);
  const run = rollout ?? beginOwn(planned, isNew ? target.run : undefined);
  run.hostBegan(name, made.plan);
  const term = deps.term?.();
  let failure: string | undefined = 'It was not carried out.';
  try {
    // What the host allows the connection may have changed since it was opened.
    await link.check(signal);
    const notes = notesOf(made, target.loaded.loaded.written, await facts(target, run, !isNew));
    const work: PlanRun = {
      client: link.client,
      made,
      notes: claim?.claiming(notes) ?? notes,
      journal: journal(link.client),
      cancel: signal,
      ...limits,
      nowMs,
      emit: (event) => run.event(name, event),
      warn: (text) => log('warn', clean(text), name),
      beforeStep:
        isNew && hooks !== undefined
          ? waveGate(made.plan, (wave, end) => hooks.beforeWave(link, wave, target, end))
          : undefined,
      permit: tenant === undefined ? undefined : stepGuard(tenant, link.host, documents, project),
      stop: term === undefined ? signal : AbortSignal.any([signal, term]),
    };
    const done = await run.onHost(name, () => runPlan(work));
    // The controller that is active now compares the host for itself.
    if (done.isInterrupted && term?.aborted === true && !signal.aborted)
      throw new OvertakenError(reasonOf(term.reason));
    const failures = done.failures.map((one) => ({ ...one, what: clean(one.what), why: clean(one.why) }));
    const result = { ...done, failures };
    failure = textOf(result.failures);
    run.hostEnded(name, made.plan, result, failure);
    const changes = changesOn(name, run.id, made.plan, result, nowMs());
    if (changes !== undefined) onChanges(changes);
    onEnd(result.failures, failure);
  } catch (error) {
    failure = clean(reasonOf(error));
    run.hostEnded(name, undefined, undefined, failure);
    throw error;
  } finally {
    link.forgetLists();
    if (rollout === undefined) run.end(failure === undefined ? 'done' : 'failed', nowMs(), failure);
  }
}

const maxFailures = 3;

const textOf = (failures: Failures): string | undefined =>
  failures.length === 0
    ? undefined
    : failures
        .map(({ what, why }) => `${what}: ${why}`)
        .slice(0, maxFailures)
        .join('; ');
