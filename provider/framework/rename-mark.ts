// Marks a state whose object may have its new name already: its update failed, and nobody could read the object afterwards.
import type { PrivateData } from './object-type.ts';
import type { ValueMap } from './value.ts';

const key = 'renamed_to';

/** `identity`: the attributes that name the object after the update. */
export function markRename(privateData: PrivateData, identity: ValueMap): void {
  privateData[key] = JSON.stringify(identity);
}

/** Takes the mark away and returns the identity in it. */
export function takeRename(privateData: PrivateData): ValueMap | undefined {
  const mark = privateData[key];
  delete privateData[key];
  return mark === undefined ? undefined : (JSON.parse(mark) as ValueMap);
}
