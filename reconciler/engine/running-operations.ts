// Waits for operations that still run on an object before it is read.
import type { KindName } from '../../server/api/kinds.ts';
import type { Operations } from '../../server/client/operations.ts';

export interface OperationsClient {
  readonly operations: Pick<Operations, 'list' | 'get' | 'wait'>;
}

/** Waits for running operations on the object, from a lost connection or an earlier run. */
export async function waitForRunning(
  client: OperationsClient,
  kind: KindName,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  if (kind !== 'container') return;
  const ids = await client.operations.list(signal);
  for (const id of ids) {
    const operation = await client.operations.get(id, signal).catch(() => undefined);
    const urls = Object.values(operation?.resources ?? {}).flat();
    const isOurs = urls.some((url) => url.split('?')[0]?.endsWith(`/${encodeURIComponent(name)}`) === true);
    // The next read of the object shows the outcome.
    if (operation !== undefined && isOurs) await client.operations.wait(operation, signal).catch(() => undefined);
    signal.throwIfAborted();
  }
}
