// Copies what runs in passes until one is short: the last pass, while the container is down, brings what changed during the one before.

/** A pass of that length is short enough. */
const shortMs = 5_000;
const maxPasses = 5;

/** Ends early when a pass is not much shorter than the one before: the container writes as fast as the copy reads. */
export async function copyUntilShort(copy: () => Promise<void>, nowMs: () => number): Promise<void> {
  let beforeMs = Infinity;
  for (let pass = 0; pass < maxPasses; pass += 1) {
    const startMs = nowMs();
    await copy();
    const lastMs = nowMs() - startMs;
    if (lastMs < shortMs || lastMs > beforeMs / 2) return;
    beforeMs = lastMs;
  }
}
