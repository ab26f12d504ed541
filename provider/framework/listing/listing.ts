// The definition of a listing, as authors of resources write it: finds objects for `list` blocks of `terraform query`.
import type { Attributes } from '../attribute.ts';
import type { Context } from '../object-type.ts';
import type { ValueMap } from '../value.ts';

export interface Listed {
  /** The values that an import would have: at least the identifying attributes. */
  readonly state: ValueMap;
  /** A title for people. */
  readonly title: string;
}

export interface Listing<C> {
  /** One sentence for the documentation. */
  readonly doc: string;
  /** The attributes of a `config` block. */
  readonly attributes: Attributes;
  find(config: ValueMap, context: Context<C>): Promise<readonly Listed[]>;
}
