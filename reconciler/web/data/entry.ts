// One object of a set as the page keeps it.
import type { ObjectSummary } from '../../controller/contract/index.ts';

/** An object with precomputed values for the list. */
export interface Entry {
  readonly key: string;
  readonly object: ObjectSummary;
  /** The text to search in, in lower case. */
  readonly text: string;
}
