// One operation on an object under its time limit: its context and the message of its failure.
import { longestTimerMs } from '../../server/lib/shared/deadline.ts';
import { failure, type Diagnostic } from './diagnostic.ts';
import type { Context, PrivateData } from './object-type.ts';
import type { AnyProvider, AnyResource } from './provider.ts';

/** The dependencies of an operation on a resource. */
export interface ResourceDeps<C> {
  readonly provider: AnyProvider<C>;
  readonly resource: AnyResource<C>;
  readonly client: C;
  readonly stopping: AbortSignal;
}

export interface OperationLimits {
  readonly timeoutMs: number;
  /** The limit is in the attribute `timeouts`, which only resources have. */
  readonly isInTimeouts?: boolean;
  readonly stopping: AbortSignal;
}

export interface RunningOperation<C> {
  readonly context: Context<C>;
  readonly diagnostics: Diagnostic[];
  /** Adds a message about the failure. */
  fail(what: string, error: unknown): void;
  /** Ends the time limit. */
  end(): void;
}

/** The caller has to call `end`. */
export function begin<C>(
  provider: AnyProvider<C>,
  client: C,
  privateData: PrivateData,
  limits: OperationLimits,
): RunningOperation<C> {
  const diagnostics: Diagnostic[] = [];
  const deadline = new AbortController();
  const timer = setTimeout(
    () => deadline.abort(new Error('the time limit has passed')),
    Math.min(limits.timeoutMs, longestTimerMs),
  );
  return {
    context: {
      client,
      signal: deadline.signal,
      stopping: limits.stopping,
      privateData,
      warn: (diagnostic) => diagnostics.push(diagnostic),
    },
    diagnostics,
    fail(what, error) {
      if (!deadline.signal.aborted) diagnostics.push(...provider.explain(what, error));
      else {
        const limit = `It took longer than ${limits.timeoutMs / 1000} s. The server may still be working on it; the state shows the object as it is now.`;
        const remedy = limits.isInTimeouts === true ? ' Raise the limit in the timeouts attribute.' : '';
        diagnostics.push(failure(`Timed out: ${what}`, limit + remedy));
      }
    },
    end: () => clearTimeout(timer),
  };
}
