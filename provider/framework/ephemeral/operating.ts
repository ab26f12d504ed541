// Runs one operation of an ephemeral resource: its context, its time limit, and the message of its failure.
import { failure, type Diagnostic } from '../diagnostic.ts';
import { begin, type Begun } from '../operation.ts';
import type { PrivateData } from '../object-type.ts';
import type { AnyProvider } from '../provider.ts';
import type { AnyEphemeralResource } from './ephemeral-resource.ts';

export interface EphemeralDeps<C> {
  readonly provider: AnyProvider<C>;
  readonly resource: AnyEphemeralResource<C>;
  /** Undefined when the provider is not configured. */
  readonly client: C | undefined;
  readonly stopping: AbortSignal;
  readonly unconfigured: (what: string) => Diagnostic;
}

const defaultLimitMs = 60_000;

/** Runs `work` under the time limit; on failure returns undefined and adds diagnostics. */
export async function operate<C, T>(
  deps: EphemeralDeps<C>,
  verb: 'open' | 'renew' | 'close',
  privateData: PrivateData,
  work: (context: Begun<C>['context']) => Promise<T>,
): Promise<{ readonly done: T | undefined; readonly privateData: PrivateData; readonly diagnostics: Diagnostic[] }> {
  const what = `${verb} the ephemeral ${deps.resource.typeName}`;
  if (deps.client === undefined) return { done: undefined, privateData, diagnostics: [deps.unconfigured(what)] };
  const timeoutMs = deps.resource.timeoutMs ?? defaultLimitMs;
  const begun = begin(deps.provider, deps.client, { ...privateData }, { timeoutMs, stopping: deps.stopping });
  let done: T | undefined;
  try {
    done = await work(begun.context);
  } catch (error) {
    if (begun.context.signal.aborted) {
      begun.diagnostics.push(failure(`Timed out: ${what}`, `It took longer than ${timeoutMs / 1000} s.`));
    } else begun.fail(what, error);
  } finally {
    begun.end();
  }
  return { done, privateData: begun.context.privateData, diagnostics: begun.diagnostics };
}
