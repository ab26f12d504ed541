// Waits for the end of a command and keeps its output, within limits of time and size.
import { DriverError } from '../../driver-error.ts';
import type { RuntimeExecResult, RuntimeProcess } from '../driver.ts';

const maxOutputBytes = 1024 * 1024;
const defaultTimeoutMs = 60_000;

/** `what` names the command in errors. Kills the command on a timeout or an abort. */
export async function captureOutput(
  command: RuntimeProcess,
  what: string,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<RuntimeExecResult> {
  const limitMs = timeoutMs ?? defaultTimeoutMs;
  const timeout = AbortSignal.timeout(limitMs);
  const stop = AbortSignal.any([signal, timeout]);
  const kill = (): void => command.kill();
  stop.addEventListener('abort', kill, { once: true });
  if (stop.aborted) kill();
  try {
    command.stdin?.end();
    const [stdout, stderr, exitCode] = await Promise.all([
      collect(command.stdout),
      collect(command.stderr),
      command.exited,
    ]);
    if (signal.aborted) throw signal.reason;
    if (timeout.aborted) throw new DriverError('Timeout', `${what} did not end in ${limitMs} ms`);
    return { exitCode, stdout, stderr };
  } finally {
    stop.removeEventListener('abort', kill);
  }
}

async function collect(stream: RuntimeProcess['stdout']): Promise<string> {
  if (stream === undefined) return '';
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (size < maxOutputBytes) chunks.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, maxOutputBytes).toString('utf8');
}
