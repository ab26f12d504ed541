// One object of a set as the page keeps it.
import type { ObjectSummary } from '../../controller/contract/index.ts';

/** An object with what the list needs again and again. */
export interface Entry {
  readonly key: string;
  readonly object: ObjectSummary;
  /** What search looks at, in lower case. */
  readonly text: string;
}
