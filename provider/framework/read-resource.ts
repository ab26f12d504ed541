// Refreshes an object: returns its current state on the server, or null if the object is gone.
import { withNullEntries, withoutNullEntries } from './null-entries.ts';
import { versionKey, type PrivateData } from './object-type.ts';
import { begin, type ResourceDeps } from './operation.ts';
import { takeRename } from './rename-mark.ts';
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
  const former = { ...privateData };
  const renamed = takeRename(former);
  const begun = begin(provider, client, { ...former }, { timeoutMs: limit, isInTimeouts: true, stopping });
  try {
    let known = state;
    let read = await resource.read(withoutNullEntries(attributes, known), begun.context);
    if (read === null && renamed !== undefined) {
      known = { ...state, ...renamed };
      read = await resource.read(withoutNullEntries(attributes, known), begun.context);
    }
    const found = read === null ? null : withNullEntries(attributes, { ...known, ...(read as ValueMap) }, known);
    const isSame = found !== null && equalValues(found, state);
    const kept = isSame ? withFormerVersion(begun.context.privateData, former) : begun.context.privateData;
    return { state: found, privateData: kept, diagnostics: begun.diagnostics };
  } catch (error) {
    begun.fail(`read ${resource.typeName}`, error);
    return { state, privateData, diagnostics: begun.diagnostics };
  } finally {
    begun.end();
  }
}

/**
 * The same state keeps its version, or none (it came from a list): other resources may have changed other parts of the object, and Terraform counts other private data as a
 * change (plan -refresh-only -detailed-exitcode). A write compares the object where the version is another one.
 */
function withFormerVersion(read: PrivateData, former: PrivateData): PrivateData {
  const { [versionKey]: _seen, ...rest } = read;
  const version = former[versionKey];
  return { ...former, ...rest, ...(version === undefined ? {} : { [versionKey]: version }) };
}
