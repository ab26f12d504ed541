// The context of a step: client, records, callbacks. The other files of this folder are the steps.
import type { Operation } from '../../../server/api/operation.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import type { KeyHash } from '../../core/ownership/owner-records.ts';
import type { Step } from '../../core/plan/plan.ts';
import { progressOf, type CommandOutput } from './events.ts';

/** The part of the client that the engine uses: small, so that a test can replace it. */
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
  // For waits until a container is ready.
  | 'exec'
  | 'events'
  | 'networkLeases'
  | 'http'
  | 'inProject'
  | 'patch'
  | 'members'
>;

/** Throws NotPermittedError. `write`: for an update, the object before and after the edit. */
export type StepGuard = (step: Step, write?: { readonly before: JsonObject; readonly after: JsonObject }) => void;

export interface StepContext {
  readonly client: EngineClient;
  /** Checks each step before it is sent. */
  readonly permit?: StepGuard | undefined;
  /** Computes the owner's records; without it none are written. */
  readonly hash?: KeyHash;
  /** The sets with a record on the object when the plan was made; absent: unknown. */
  readonly owners?: ReadonlySet<string> | undefined;
  /** Called when an operation begins, before the wait for it, because the operation continues without this process. */
  readonly onBegun?: (operation: Operation) => void;
  /** Called with the fingerprint of a created image, which is known only now. */
  readonly onMade?: (fingerprint: string) => void;
  readonly onOperation: (operation: Operation) => void;
  readonly onProgress: (text: string, percent?: number) => void;
  /** Called with the output of a command of a document, without secrets. */
  readonly onOutput?: (output: CommandOutput) => void;
  readonly nowMs: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Why a step had little or nothing to do; undefined if it did its work. */
export type Note = string | undefined;

/** A rule forbids the step, so nothing was sent. */
export class NotPermittedError extends Error {
  override readonly name = 'NotPermittedError';
}

/** The object has changed since the plan. */
export class StaleError extends Error {
  override readonly name = 'StaleError';
}

/**
 * Sends a request that may start an operation and waits for its end, reporting progress. When `signal` fires while the
 * operation runs, the operation is cancelled where the server allows that.
 */
export async function sendAndWait<T>(
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
