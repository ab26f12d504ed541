// An undo stack for short, in-memory multi-step work; long or crash-safe work uses a saga instead.
import { failuresOf } from './run-all.ts';

export class Revert {
  #undos: (() => void | Promise<void>)[] = [];

  /** `undo` runs if the work fails later; it must cope with a step that happened only in part. */
  push(undo: () => void | Promise<void>): void {
    this.#undos.push(undo);
  }

  /** Runs all undos, newest first; collects their errors instead of stopping at one. */
  fail(): Promise<readonly unknown[]> {
    return failuresOf(this.#undos.splice(0).toReversed());
  }

  success(): void {
    this.#undos = [];
  }
}

/** Runs `work` with an undo stack: a throw runs all pushed undos and is rethrown. `undoFailed` gets the error of each undo that fails,
 *  which never replaces that of the work. */
export async function withRevert<T>(
  work: (revert: Revert) => Promise<T>,
  undoFailed: (error: unknown) => void,
): Promise<T> {
  const revert = new Revert();
  try {
    const result = await work(revert);
    revert.success();
    return result;
  } catch (error) {
    for (const failure of await revert.fail()) undoFailed(failure);
    throw error;
  }
}

/** Runs `work`, then `cleanup`, also if the work fails: then the error of the work is thrown, and `cleanupFailed` gets that of the cleanup. */
export async function withCleanup<T>(
  work: () => Promise<T>,
  cleanup: () => Promise<void>,
  cleanupFailed: (error: unknown) => void,
): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await cleanup().catch(cleanupFailed);
    throw error;
  }
  await cleanup();
  return result;
}
