// Marks a state as imported until the first apply: the configuration of its object is not known yet.
import type { PrivateData } from './object-type.ts';

const key = 'imported';

/** A read sets the mark when the state holds only the values of an import id. */
export function markImport(privateData: PrivateData): void {
  privateData[key] = 'true';
}

export const isImported = (privateData: PrivateData): boolean => privateData[key] !== undefined;

/** The first update clears the mark: from then on the state has the configured values. Returns whether the mark was set. */
export function endImport(privateData: PrivateData): boolean {
  const was = isImported(privateData);
  delete privateData[key];
  return was;
}
