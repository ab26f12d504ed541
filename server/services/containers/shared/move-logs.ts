// Moves the logs of a renamed container.
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../../../lib/shared/missing-files.ts';

/** A container that never started has none. */
export async function moveLogs(logsDir: string, from: string, to: string): Promise<void> {
  if (from === to) return;
  await rename(join(logsDir, from), join(logsDir, to)).catch(ifMissing);
}
