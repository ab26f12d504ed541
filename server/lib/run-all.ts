// Runs works one after the other, also those that come after one that fails.
import { errorText } from './shared/reason.ts';

type Work = () => void | Promise<void> | undefined;

/** Throws what failed: the error itself, or one that names them all. */
export async function runAll(works: readonly Work[]): Promise<void> {
  const failures = await failuresOf(works);
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, failures.map(errorText).join('; '));
}

export async function failuresOf(works: readonly Work[]): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  for (const work of works) {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  }
  return failures;
}
