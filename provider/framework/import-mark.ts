// Marks a state as imported until the first apply: the configuration of its object is not known yet.
import type { PrivateData } from './object-type.ts';

const key = 'imported';

/** Said by a read that finds of an object only what an import id says. */
export function markImport(privateData: PrivateData): void {
  privateData[key] = 'true';
}

export const isImported = (privateData: PrivateData): boolean => privateData[key] !== undefined;

/** Said by the first update: from then on the state has what was configured. Returns whether there was an import. */
export function endImport(privateData: PrivateData): boolean {
  const was = isImported(privateData);
  delete privateData[key];
  return was;
}
