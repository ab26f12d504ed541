// Polls a condition instead of sleeping a guessed time. The limit only decides when a test has failed: it is long, for busy machines.

/** A twentieth of the time that a wait has lasted, so that short waits end at once and long ones take no processor from others. */
const pauseMs = (waitedMs: number): number => Math.min(Math.max(waitedMs / 20, 5), 100);

export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const begun = Date.now();
  while (!(await condition())) {
    const waitedMs = Date.now() - begun;
    if (waitedMs > timeoutMs) throw new Error(`the condition did not hold in ${timeoutMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs(waitedMs)));
  }
}
