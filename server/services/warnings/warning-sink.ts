// The interface through which use cases report states that an administrator should know.
import type { WarningType } from '../../api/server/warning-types.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { WarningEntity } from './next-warning.ts';

/** All return at once and never throw; for the first two the log also gets a line. */
export interface WarningSink {
  /** It happened, perhaps again. */
  seen(type: WarningType, message: string, entity?: WarningEntity): void;
  /** The cause is over, if there was any. */
  over(type: WarningType, entity?: WarningEntity): void;
  isOpen(type: WarningType, entity: WarningEntity): boolean;
}

/** The sink of a dry run, and of tests. */
export const noWarnings: WarningSink = { seen: () => {}, over: () => {}, isOpen: () => false };

/** Runs the work; its failure is a warning until it succeeds again. */
export async function warnOfFailure(
  warnings: WarningSink,
  {
    type,
    entity,
    signal,
  }: { readonly type: WarningType; readonly entity: WarningEntity; readonly signal: AbortSignal },
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
    warnings.over(type, entity);
  } catch (error) {
    // It was cancelled, or the daemon ends.
    if (!signal.aborted) warnings.seen(type, errorText(error), entity);
    throw error;
  }
}
