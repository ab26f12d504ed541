// The differences between a document and its live object, key by key. plan.ts holds the steps.
import type { Effect } from '../../../server/api/schema/field.ts';
import type { Json } from './document.ts';

export interface Change {
  /** For people and policies: `config.limits.memory`, `devices.eth0.parent`, `profiles`. */
  readonly path: string;
  /** The path as keys from the object's root: `['config', 'limits.memory']`. */
  readonly segments: readonly string[];
  /** undefined = absent. In clear: only rendered output is masked. */
  readonly before: Json | undefined;
  /** undefined = to be removed. */
  readonly after: Json | undefined;
  /** The effect on a running container; `live` when it does not run. */
  readonly effect: Effect;
  readonly secret: boolean;
  /** The user asked to see it: no part of it is masked. */
  readonly isClear?: boolean;
  /** `drift`: the live value differs from the value of the set's last apply; absent when it is unknown. */
  readonly origin?: 'manifest' | 'drift';
  /** For a text that contains a map: the paths in it that differ, without values. */
  readonly inside?: readonly string[];
}
