// Runs synchronous work whose failure has a known meaning.

/** The result of the work; `otherwise` if it throws. */
export function attempt<T>(work: () => T): T | undefined;
export function attempt<T, F>(work: () => T, otherwise: F): T | F;
export function attempt<T, F>(work: () => T, otherwise?: F): T | F | undefined {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

export const succeeds = (work: () => unknown): boolean =>
  attempt(() => {
    work();
    return true;
  }, false);
