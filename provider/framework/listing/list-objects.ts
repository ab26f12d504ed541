// Lists the objects of a resource: one event for each, with its identity and, on request, its whole state.
import type { Diagnostic } from '../diagnostic.ts';
import { begin, type ResourceDeps } from '../operation.ts';
import { readResource } from '../read-resource.ts';
import { redacted } from '../redact.ts';
import { knownPart, type ValueMap } from '../value.ts';
import type { Listed, Listing } from './listing.ts';

export interface ListRequest {
  readonly config: ValueMap;
  readonly includesState: boolean;
  /** 0: no limit. */
  readonly limit: number;
}

export interface ListEvent {
  readonly title: string;
  /** At least the identity; on request every attribute. Null: nothing could be listed. */
  readonly state: ValueMap | null;
  readonly diagnostics: readonly Diagnostic[];
}

const findLimitMs = 120_000;
/** How many objects are read at once, which the reader combines into one request. */
const batch = 32;

export async function* listObjects<C>(
  deps: ResourceDeps<C>,
  listing: Listing<C>,
  { config, includesState, limit }: ListRequest,
): AsyncGenerator<ListEvent> {
  const { found, diagnostics } = await find(deps, listing, config);
  if (diagnostics.length > 0)
    yield { title: '', state: null, diagnostics: redacted(diagnostics, listing.attributes, [config]) };
  const wanted = limit > 0 ? found.slice(0, limit) : found;
  for (let at = 0; at < wanted.length && !deps.stopping.aborted; at += batch) {
    const some = wanted.slice(at, at + batch);
    yield* includesState ? (await Promise.all(some.map((one) => eventsOf(deps, one)))).flat() : some.map(named);
  }
}

const named = ({ title, state }: Listed): ListEvent => ({ title, state, diagnostics: [] });

async function find<C>(deps: ResourceDeps<C>, listing: Listing<C>, config: ValueMap) {
  const { provider, resource, client, stopping } = deps;
  const begun = begin(provider, client, {}, { timeoutMs: findLimitMs, stopping });
  let found: readonly Listed[] = [];
  try {
    found = await listing.find(knownPart(config) as ValueMap, begun.context);
  } catch (error) {
    begun.fail(`list ${resource.typeName}`, error);
  } finally {
    begun.end();
  }
  return { found, diagnostics: begun.diagnostics };
}

/** The state is like that after an import. Skips an object that was deleted in the meantime. */
async function eventsOf<C>(deps: ResourceDeps<C>, { title, state }: Listed): Promise<readonly ListEvent[]> {
  const names = Object.keys(deps.resource.attributes);
  const whole = Object.fromEntries(names.map((name) => [name, state[name] ?? null] as const));
  const read = await readResource(deps, whole, {});
  return read.state === null ? [] : [{ title, state: read.state, diagnostics: read.diagnostics }];
}
