// Refreshes an object: returns its current state on the server, or null if the object is gone.
import { withNullEntries, withoutNullEntries } from './null-entries.ts';
import { versionKey, type PrivateData } from './object-type.ts';
import { begin, type ResourceDeps } from './operation.ts';
import type { ReadResult } from './results.ts';
import { timeoutMs } from './timeouts.ts';
import { equalValues, type ValueMap } from './value.ts';

export async function readResource<C>(
  { provider, resource, client, stopping }: ResourceDeps<C>,
  state: ValueMap,
  privateData: PrivateData,
): Promise<ReadResult> {
  const { attributes } = resource;
  const limit = timeoutMs(state['timeouts'], 'read', resource.timeoutsMs?.read);
  const begun = begin(provider, client, { ...privateData }, { timeoutMs: limit, isInTimeouts: true, stopping });
  try {
    const read = await resource.read(withoutNullEntries(attributes, state), begun.context);
    const found = read === null ? null : withNullEntries(attributes, { ...state, ...(read as ValueMap) }, state);
    const isSame = found !== null && equalValues(found, state);
    const kept = isSame ? withFormerVersion(begun.context.privateData, privateData) : begun.context.privateData;
    return { state: found, privateData: kept, diagnostics: begun.diagnostics };
  } catch (error) {
    begun.fail(`read ${resource.typeName}`, error);
    return { state, privateData, diagnostics: begun.diagnostics };
  } finally {
    begun.end();
  }
}

/**
 * The same state keeps its version: other resources may have changed other parts of the object, and Terraform counts other private data as a
 * change (plan -refresh-only -detailed-exitcode). A write compares the object where the version is another one.
 */
function withFormerVersion(read: PrivateData, former: PrivateData): PrivateData {
  const version = former[versionKey];
  return { ...former, ...read, ...(version === undefined ? {} : { [versionKey]: version }) };
}
