// Plans and runs one action: its configuration with defaults, its time limit, and the message of its failure.
import type { Attributes, StateOf } from '../attribute.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { withoutNullEntries } from '../null-entries.ts';
import { begin, type RunningOperation } from '../operation.ts';
import { planChange } from '../plan.ts';
import type { AnyProvider } from '../provider.ts';
import { redacted } from '../redact.ts';
import { knownPart, type ValueMap } from '../value.ts';
import type { AnyAction } from './action.ts';

export interface ActionDeps<C> {
  readonly provider: AnyProvider<C>;
  readonly action: AnyAction<C>;
  readonly client: C;
  readonly stopping: AbortSignal;
}

export const planAction = <C>(deps: ActionDeps<C>, config: ValueMap): Promise<readonly Diagnostic[]> =>
  run(deps, 'plan', config, (given, { context }) => deps.action.plan?.(given, context) ?? Promise.resolve());

export const invokeAction = <C>(
  deps: ActionDeps<C>,
  config: ValueMap,
  sendProgress: (line: string) => void,
): Promise<readonly Diagnostic[]> =>
  run(deps, 'run', config, (given, { context }) => deps.action.invoke(given, { ...context, sendProgress }));

async function run<C>(
  { provider, action, client, stopping }: ActionDeps<C>,
  verb: 'plan' | 'run',
  config: ValueMap,
  work: (given: StateOf<Attributes>, begun: RunningOperation<C>) => Promise<void>,
): Promise<readonly Diagnostic[]> {
  const { attributes, timeoutMs } = action;
  const given = knownPart(planChange(attributes, withoutNullEntries(attributes, config), null).planned) as ValueMap;
  const begun = begin(provider, client, {}, { timeoutMs, stopping });
  try {
    await work(given, begun);
  } catch (error) {
    begun.fail(`${verb} the action ${action.typeName}`, error);
  } finally {
    begun.end();
  }
  return redacted(begun.diagnostics, attributes, [config]);
}
