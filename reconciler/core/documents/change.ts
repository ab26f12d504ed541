// What differs between a document and its live object, key by key. What to do about it is in plan.ts.
import type { Effect } from '../../../server/api/schema/field.ts';
import type { Json } from './document.ts';

export interface Change {
  /** For people and policies: `config.limits.memory`, `devices.eth0.parent`, `profiles`. */
  readonly path: string;
  /** The same as keys from the object's root: `['config', 'limits.memory']`. */
  readonly segments: readonly string[];
  /** undefined = absent. In clear: only rendered output is masked. */
  readonly before: Json | undefined;
  /** undefined = to be removed. */
  readonly after: Json | undefined;
  /** What it costs a running container; `live` when none is running. */
  readonly effect: Effect;
  readonly secret: boolean;
  /** For the eyes of one person who asked: nothing of it is masked. */
  readonly isClear?: boolean;
  /** `drift`: the live value is not the one that the set's last apply left; absent when nobody knows. */
  readonly origin?: 'manifest' | 'drift';
  /** Of a text that is a map to those who read it: where in it the two differ. Only paths, no values. */
  readonly inside?: readonly string[];
}
