// The row of a resource type of the LXD and Incus providers: which arguments stay, and how the others are converted.
import type { Block, Item } from './read-body.ts';
import type { Source } from './source.ts';

/** Arguments that become one argument. `undefined`: they stay unchanged; `''`: they are removed. */
export interface Group {
  readonly takes: readonly string[];
  readonly make: (items: readonly Item[], source: Source, block: Block) => string | undefined;
}

export interface TypeRow {
  readonly target: string;
  readonly same: readonly string[];
  readonly renames?: Readonly<Record<string, string>>;
  /** Arguments that are removed if they have this value, the only one allowed. */
  readonly only?: Readonly<Record<string, string | boolean>>;
  /** Removed arguments, with a remark. */
  readonly drops?: Readonly<Record<string, string>>;
  readonly groups?: readonly Group[];
  /** Attributes without a counterpart. */
  readonly gone?: Readonly<Record<string, string>>;
  /** Arguments to add when they are missing. */
  readonly adds?: Readonly<Record<string, string>>;
  /** Further resources, below this one. */
  readonly more?: (block: Block, source: Source) => string;
  /** The import id, from arguments of this type: `[['pool'], '/', ['name']]`; undefined if only the server knows it. */
  readonly id?: readonly (string | readonly string[])[];
  readonly idMore?: (block: Block, source: Source) => string;
  readonly hasNoProject?: true;
}

/** Arguments of every resource of Terraform. */
export const metaArguments = ['count', 'for_each', 'depends_on', 'lifecycle', 'provider', 'provisioner', 'connection'];
