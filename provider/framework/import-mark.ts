// Marks a state as imported, or taken over by a `moved` block, until the first update: the configuration of its object is not known yet.
import type { PrivateData } from './object-type.ts';

const key = 'imported';

/** `run`: the run of Terraform that does it. */
export const markImport = (run: string): PrivateData => ({ [key]: run });

export const isImported = (privateData: PrivateData): boolean => privateData[key] !== undefined;

/** An import block, whose import and plan are one run. */
export const isImportedIn = (run: string, privateData: PrivateData): boolean => privateData[key] === run;

/** The first update clears the mark: from then on the state has the configured values. Returns whether the mark was set. */
export function endImport(privateData: PrivateData): boolean {
  const was = isImported(privateData);
  delete privateData[key];
  return was;
}
