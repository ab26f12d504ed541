// Polls a condition instead of sleeping a guessed time. The limit only decides when a test has failed: it is long, for busy machines.

/** A twentieth of the time that a wait has lasted, so that short waits end at once and long ones take no processor from others. */
const pauseMs = (waitedMs: number): number => Math.min(Math.max(waitedMs / 20, 5), 100);

export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const begun = Date.now();
  while (!(await answerOf(condition, timeoutMs + hangMs))) {
    const waitedMs = Date.now() - begun;
    if (waitedMs > timeoutMs) throw new Error(`the condition did not hold in ${timeoutMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs(waitedMs)));
  }
}

/** How much longer than the wait itself a condition may take to answer. */
const hangMs = 120_000;

/** Throws an error that names a condition that does not answer, such as one that asks a program that hangs. */
async function answerOf(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
  const answer = condition();
  if (typeof answer === 'boolean') return answer;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`the condition did not answer in ${limitMs} ms: ${condition.toString()}`);
    timer = setTimeout(reject, limitMs, error);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
