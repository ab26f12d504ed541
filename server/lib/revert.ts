// An undo stack for short, in-memory multi-step work; long or crash-safe work uses a saga instead.

export class Revert {
  #undos: (() => void | Promise<void>)[] = [];

  /** `undo` runs if the work fails later; it must cope with a step that happened only in part. */
  push(undo: () => void | Promise<void>): void {
    this.#undos.push(undo);
  }

  /** Runs all undos, newest first; collects their errors instead of stopping at one. */
  async fail(): Promise<readonly unknown[]> {
    const errors: unknown[] = [];
    for (const undo of this.#undos.splice(0).reverse()) {
      try {
        await undo();
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }

  success(): void {
    this.#undos = [];
  }
}

/** Runs `work` with an undo stack: a throw runs all pushed undos and is rethrown. */
export async function withRevert<T>(work: (revert: Revert) => Promise<T>): Promise<T> {
  const revert = new Revert();
  try {
    const result = await work(revert);
    revert.success();
    return result;
  } catch (error) {
    await revert.fail();
    throw error;
  }
}
