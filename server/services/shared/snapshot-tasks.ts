// The common part of the tasks that take and delete snapshots each minute: whether a schedule is due, and one operation for all owners.
import { isDue, parseSchedule, type Minute } from '../../api/container/snapshot-schedule.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Operations } from '../../operations/manager.ts';

/** A minute in the host's local time. */
export function wallClock(at: Date): Minute {
  return {
    minute: at.getMinutes(),
    hour: at.getHours(),
    dayOfMonth: at.getDate(),
    month: at.getMonth() + 1,
    dayOfWeek: at.getDay(),
  };
}

/** Whether a `snapshots.schedule` value names this minute. */
export function isScheduledAt(text: string | undefined, minute: Date): boolean {
  if (text === undefined || text === '') return false;
  const schedules = parseSchedule(text);
  return typeof schedules !== 'string' && isDue(schedules, wallClock(minute));
}

/** The work on one container or volume. */
export interface Turn {
  readonly label: string;
  readonly lock: string;
  run(signal: AbortSignal): Promise<void>;
}

/** One operation for all; a failure does not stop the remaining turns. */
export async function inOneOperation(
  deps: { readonly operations: Operations; readonly locks: KeyedMutex },
  about: { readonly description: string; readonly resources: Readonly<Record<string, readonly string[]>> },
  turns: readonly Turn[],
): Promise<void> {
  if (turns.length === 0) return;
  const operation = deps.operations.start({
    ...about,
    run: async (_handle, signal) => {
      const failed: string[] = [];
      for (const turn of turns) {
        await deps.locks
          .run(turn.lock, () => turn.run(signal))
          .catch((error: unknown) => failed.push(`${turn.label}: ${errorText(error)}`));
      }
      if (failed.length > 0) throw new Error(failed.join('; '));
    },
  });
  await deps.operations.wait(operation.id, undefined);
}
