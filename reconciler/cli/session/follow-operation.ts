// Follows a background operation and shows its progress.
import type { Operation } from '../../../server/api/operation.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { Command } from './context.ts';
import { canRepaint } from '../output/process-io.ts';

const eraseLine = '\r\u001b[K';

/** The metadata of the ended operation, with the objects that it created. */
export type OperationFacts = Readonly<Record<string, unknown>> & {
  readonly fingerprint: string;
  /** Names of the containers that the operation is about. */
  readonly containers: readonly string[];
};

/** Waits for the operation, showing its progress on a terminal; an interruption cancels it. */
export async function followOperation(
  context: Command,
  client: Client,
  begin: () => Promise<Reply<unknown>>,
): Promise<OperationFacts> {
  const { io } = context;
  const isLive = !context.isJson && canRepaint(io.env, io.stderr);
  let id: string | undefined;
  const onStop = (): void => {
    if (id !== undefined) void client.operations.cancel(id).catch(() => {}); // it may have ended, or may not be cancellable
  };
  context.stop.addEventListener('abort', onStop, { once: true });
  try {
    const reply = await client.operations.run(begin, context.cancel, (operation: Operation) => {
      id = operation.id;
      const text = progressOf(operation);
      if (!isLive || text === undefined) return;
      io.raw.stderr.write(eraseLine);
      io.stderr.write(text);
    });
    const metadata = reply.operation?.metadata ?? {};
    const { fingerprint } = metadata;
    const urls = reply.operation?.resources?.['containers'] ?? reply.operation?.resources?.['instances'] ?? [];
    const containers = urls.map((url) => decodeURIComponent(url.split('?', 1).join('').split('/').at(-1) ?? ''));
    return { ...metadata, fingerprint: typeof fingerprint === 'string' ? fingerprint : '', containers };
  } finally {
    if (isLive) io.raw.stderr.write(eraseLine);
    context.stop.removeEventListener('abort', onStop);
  }
}

function progressOf({ metadata }: Operation): string | undefined {
  const found = Object.entries(metadata ?? {}).find(([key]) => key.endsWith('_progress'))?.[1];
  return typeof found === 'string' ? found : undefined;
}
