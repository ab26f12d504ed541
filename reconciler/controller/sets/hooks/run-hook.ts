// Runs one hook in its container with a time limit, and returns the end of its output.
import { longestTimerMs } from '../../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { Client } from '../../../../server/client/client.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import { lastLines, Tail } from '../../../../server/client/wait/last-lines.ts';
import type { Hook } from '../../config/config.ts';

export interface HookResult {
  readonly outcome: 'done' | 'failed' | 'left-out';
  /** Why the hook failed or was skipped. */
  readonly message?: string;
  readonly output: readonly string[];
}

const keptBytes = 16 * 1024;
const keptLines = 50;

export async function runHook(
  hook: Hook,
  client: Client,
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HookResult> {
  const { container, command, timeoutMs, isOptional } = hook;
  const missing = await whyNotThere(container, client, signal);
  if (missing !== undefined) return { outcome: isOptional ? 'left-out' : 'failed', message: missing, output: [] };
  const tail = new Tail(keptBytes);
  const limit = AbortSignal.timeout(Math.min(timeoutMs, longestTimerMs));
  const failed = (message: string): HookResult => ({
    outcome: 'failed',
    message,
    output: lastLines(tail.text(), keptLines),
  });
  try {
    const options = { command, environment, stdout: tail, stderr: tail };
    const session = await client.exec(container, options, AbortSignal.any([signal, limit]));
    const code = await session.exited;
    if (code !== 0) return failed(`${command[0]} ended with code ${code}`);
    return { outcome: 'done', output: lastLines(tail.text(), keptLines) };
  } catch (error) {
    signal.throwIfAborted();
    return failed(limit.aborted ? `it did not end within ${timeoutMs / 1000} s and was killed` : reasonOf(error));
  }
}

async function whyNotThere(container: string, client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { metadata } = await client.get('container', container, signal);
    return metadata.status === 'Running' ? undefined : `the container ${container} does not run (${metadata.status})`;
  } catch (error) {
    if (isNotFound(error)) return `there is no container ${container}`;
    throw error;
  }
}
