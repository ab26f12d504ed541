// Waits for operations that an interrupted run of a set left running on its server.
import type { Client } from '../../../server/client/client.ts';
import { openOperations } from './journal-read.ts';
import type { JournalPlace } from './journal.ts';

/** `note` is called with the description of each operation that is waited for. Its outcome shows in the objects. */
export async function resumeOperations(
  client: Pick<Client, 'operations'>,
  place: JournalPlace,
  note: (operation: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const id of await openOperations(place)) {
    const found = await client.operations.get(id, signal).catch(() => undefined);
    if (found === undefined || found.status_code >= 200) continue;
    note(found.description || id);
    await client.operations.wait(found, signal).catch(() => undefined);
    signal.throwIfAborted();
  }
}
