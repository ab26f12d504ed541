// Waits for operations that an interrupted run of the set left running.
import type { Client } from '../../../server/client/client.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { hostName } from './connect.ts';
import type { Context } from './context.ts';

/** Waits for operations that an interrupted run left running. */
export async function resume(context: Context<HostOptions>, client: Client, set: string): Promise<void> {
  const [{ stateDirectory }, { resumeOperations }] = await Promise.all([
    import('../../engine/runs/journal.ts'),
    import('../../engine/runs/resume-operations.ts'),
  ]);
  const place = { directory: stateDirectory(context.io.env), set, host: hostName(context, client) };
  const note = (operation: string): void =>
    context.note(`An earlier run started ${operation}, which is still running: waiting for it`);
  await resumeOperations(client, place, note, context.stop);
}
