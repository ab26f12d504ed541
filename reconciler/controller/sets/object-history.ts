// The changes that the runs of a set made to single objects, as one short record per run and host.
import type { Plan, ResourceChange } from '../../core/plan/plan.ts';
import type { RunResult } from '../../engine/run-result.ts';
import type { ObjectChange, RunRecord } from '../contract/index.ts';

type Action = ObjectChange['action'];

export interface HostChanges {
  readonly id: string;
  readonly run: string;
  readonly host: string;
  readonly at: string;
  /** By address. */
  readonly done: Readonly<Record<string, Action>>;
  readonly failed: Readonly<Record<string, { readonly action: Action; readonly why: string }>>;
}

export const changesId = (run: string, host: string): string => `${run} ${host}`;

/** How many changes to objects it holds. */
export const weightOfChanges = ({ done, failed }: HostChanges): number =>
  Object.keys(done).length + Object.keys(failed).length;

/** Undefined when the run changed nothing. */
export function changesOn(
  host: string,
  run: string,
  plan: Plan,
  { done, failures }: RunResult,
  nowMs: number,
): HostChanges | undefined {
  const finished = new Set(done);
  const why = new Map<string, string>(failures.map((one) => [one.address, `${one.what}: ${one.why}`]));
  const changed = plan.changes.filter(({ steps, isTakeover }) => steps.length > 0 && isTakeover !== true);
  const made = changed.filter(({ steps }) => steps.every((id) => finished.has(id)));
  const broken = changed.filter(({ address }) => why.has(address));
  if (made.length + broken.length === 0) return undefined;
  return {
    id: changesId(run, host),
    run,
    host,
    at: new Date(nowMs).toISOString(),
    done: Object.fromEntries(made.map((one) => [one.address, actionOf(one)])),
    failed: Object.fromEntries(
      broken.map((one) => [one.address, { action: actionOf(one), why: why.get(one.address) ?? '' }]),
    ),
  };
}

function actionOf({ action, power }: ResourceChange): Action {
  if (action === 'create' || action === 'replace' || action === 'delete') return action;
  return action === 'no-op' && power !== undefined ? power : 'update';
}

/** What runs did to one object, in the order of `records`. */
export function changesOf(
  records: readonly HostChanges[],
  runs: (id: string) => RunRecord | undefined,
  host: string,
  address: string,
): readonly ObjectChange[] {
  return records.flatMap((record): ObjectChange[] => {
    if (record.host !== host) return [];
    const failure = record.failed[address];
    const action = failure?.action ?? record.done[address];
    if (action === undefined) return [];
    const run = runs(record.run);
    return [
      {
        at: record.at,
        action,
        by: run?.by ?? 'unknown',
        ...(run === undefined ? {} : { revision: run.revision, reason: run.reason }),
        ...(failure === undefined ? {} : { message: failure.why }),
      },
    ];
  });
}
