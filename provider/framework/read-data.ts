// Reads a data source: returns its configuration with the values found.
import { withoutNullEntries } from './null-entries.ts';
import { begin } from './operation.ts';
import type { AnyDataSource, AnyProvider } from './provider.ts';
import type { StateResult } from './results.ts';
import type { ValueMap } from './value.ts';

export interface ReadDataDeps<C> {
  readonly provider: AnyProvider<C>;
  readonly source: AnyDataSource<C>;
  readonly client: C;
  readonly stopping: AbortSignal;
}

export async function readDataSource<C>(deps: ReadDataDeps<C>, config: ValueMap): Promise<StateResult> {
  const { provider, source, client, stopping } = deps;
  const begun = begin(provider, client, {}, { timeoutMs: 60_000, stopping });
  try {
    const read = await source.read(withoutNullEntries(source.attributes, config), begun.context);
    const names = Object.keys(source.attributes);
    const found = read as ValueMap;
    const state = names.map((name) => [name, found[name] ?? config[name] ?? null] as const);
    return { state: Object.fromEntries(state), diagnostics: begun.diagnostics };
  } catch (error) {
    begun.fail(`read data of ${source.typeName}`, error);
    return { state: null, diagnostics: begun.diagnostics };
  } finally {
    begun.end();
  }
}
