// Follows background operations and shows their progress.
import type { Operation } from '../../../server/api/operation.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { OnUpdate } from '../../../server/client/operations.ts';
import type { Command, Output } from './context.ts';
import { canRepaint } from '../output/process-io.ts';

const eraseLine = '\r\u001b[K';

/** The metadata of the ended operation, with the objects that it created. */
export type OperationFacts = Readonly<Record<string, unknown>> & {
  readonly fingerprint: string;
  /** Names of the containers that the operation is about. */
  readonly containers: readonly string[];
};

export interface ProgressLine {
  readonly onUpdate: OnUpdate;
  /** Empties the line, for other text or at the end. */
  readonly clear: () => void;
}

/** Shows progress on one line of a terminal; without one, `elsewhere` gets each new text. */
export function progressLine({ io, isJson }: Output, elsewhere?: (text: string) => void): ProgressLine {
  const isLive = !isJson && canRepaint(io.env, io.stderr);
  const clear = (): void => void (isLive && io.raw.stderr.write(eraseLine));
  let last = '';
  return {
    onUpdate(operation) {
      const text = progressOf(operation);
      if (text === undefined || text === last) return;
      last = text;
      clear();
      if (isLive) io.stderr.write(text);
      else elsewhere?.(text);
    },
    clear,
  };
}

/** Waits for the operation, showing its progress on a terminal; an interruption cancels it. */
export async function followOperation(
  context: Command,
  client: Client,
  begin: () => Promise<Reply<unknown>>,
): Promise<OperationFacts> {
  const line = progressLine(context);
  let id: string | undefined;
  const onStop = (): void => {
    if (id !== undefined) void client.operations.cancel(id).catch(() => {}); // it may have ended, or may not be cancellable
  };
  context.stop.addEventListener('abort', onStop, { once: true });
  try {
    const reply = await client.operations.run(begin, context.cancel, (operation: Operation) => {
      id = operation.id;
      line.onUpdate(operation);
    });
    const metadata = reply.operation?.metadata ?? {};
    const { fingerprint } = metadata;
    const urls = reply.operation?.resources?.['containers'] ?? reply.operation?.resources?.['instances'] ?? [];
    const containers = urls.map((url) => decodeURIComponent(url.split('?', 1).join('').split('/').at(-1) ?? ''));
    return { ...metadata, fingerprint: typeof fingerprint === 'string' ? fingerprint : '', containers };
  } finally {
    line.clear();
    context.stop.removeEventListener('abort', onStop);
  }
}

function progressOf({ metadata }: Operation): string | undefined {
  const found = Object.entries(metadata ?? {}).find(([key]) => key.endsWith('_progress'))?.[1];
  return typeof found === 'string' ? found : undefined;
}
