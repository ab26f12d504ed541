// How objects of a resource are found that no state has: `list` blocks of `terraform query`, as authors of resources write them.
import type { Attributes } from '../attribute.ts';
import type { Context } from '../object-type.ts';
import type { ValueMap } from '../value.ts';

export interface Listed {
  /** What an import of the object would know: at least the attributes that identify it. */
  readonly state: ValueMap;
  /** For people. */
  readonly title: string;
}

export interface Listing<C> {
  /** One sentence for the documentation. */
  readonly doc: string;
  /** What a `config` block may say. */
  readonly attributes: Attributes;
  find(config: ValueMap, context: Context<C>): Promise<readonly Listed[]>;
}
