// Moves the logs of a renamed container.
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Idempotent. Logs that a former container left at the new name give way. A container that never started has none. */
export async function moveLogs(logsDir: string, from: string, to: string): Promise<void> {
  const [before, after] = [join(logsDir, from), join(logsDir, to)];
  if (from === to || !existsSync(before)) return;
  await rm(after, { recursive: true, force: true });
  await rename(before, after);
}

/** Takes back `moveLogs` with the same arguments. As long as the container has its logs, those at the new name are a former container's. */
export async function moveLogsBack(logsDir: string, from: string, to: string): Promise<void> {
  if (!existsSync(join(logsDir, from))) await moveLogs(logsDir, to, from);
}
