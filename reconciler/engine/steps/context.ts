// What a step gets to work with, and how it reports; the steps themselves are in the files beside.
import type { Operation } from '../../../server/api/operation.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { KeyHash } from '../../core/ownership/owner-records.ts';
import { progressOf, type CommandOutput } from './events.ts';

/** The part of the client that the engine uses: small, so that a test can stand in for it. */
export type EngineClient = Pick<
  Client,
  | 'server'
  | 'patchServer'
  | 'list'
  | 'get'
  | 'create'
  | 'put'
  | 'delete'
  | 'rename'
  | 'containerState'
  | 'putContainerState'
  | 'uploadImage'
  | 'operations'
  // What a container is asked for while it gets ready.
  | 'exec'
  | 'events'
  | 'networkLeases'
  | 'http'
  | 'inProject'
  | 'patch'
  | 'members'
>;

export interface StepContext {
  readonly client: EngineClient;
  /** Makes owners' records; absent: none are written. */
  readonly hash?: KeyHash;
  /** An operation was begun that goes on without us: noted before it is waited for. */
  readonly onBegun?: (operation: Operation) => void;
  /** An image was made of which only now is known which one it is. */
  readonly onMade?: (fingerprint: string) => void;
  readonly onOperation: (operation: Operation) => void;
  readonly onProgress: (text: string, percent?: number) => void;
  /** What a command of a document printed, its secrets taken out. */
  readonly onOutput?: (output: CommandOutput) => void;
  readonly nowMs: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Why less than usual had to be done; undefined when the work was done. */
export type Note = string | undefined;

/** The object is no longer what the plan was made for. */
export class StaleError extends Error {
  override readonly name = 'StaleError';
}

/**
 * Sends a request that may start an operation and waits for its end, reporting progress. When `signal` fires while the
 * operation runs, the operation is cancelled where the server allows that.
 */
export async function perform<T>(
  context: StepContext,
  begin: () => Promise<Reply<T>>,
  signal: AbortSignal,
): Promise<Reply<T>> {
  let latest: Operation | undefined;
  try {
    const noted = async (): Promise<Reply<T>> => {
      const reply = await begin();
      if (reply.operation !== undefined) context.onBegun?.(reply.operation);
      return reply;
    };
    return await context.client.operations.run(noted, signal, (operation) => {
      latest = operation;
      context.onOperation(operation);
      const progress = progressOf(operation);
      if (progress !== undefined) context.onProgress(progress.text, progress.percent);
    });
  } catch (error) {
    if (signal.aborted && latest?.may_cancel === true && latest.status_code < 200) {
      // Best effort: the run ends anyway, and the caller reports the abort.
      await context.client.operations.cancel(latest.id, AbortSignal.timeout(5000)).catch(() => undefined);
    }
    throw error;
  }
}
