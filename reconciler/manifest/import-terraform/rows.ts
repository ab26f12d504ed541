// What a table of types says of one resource type of the providers for LXD and Incus: which arguments stay, and what becomes of the others.
import type { Block, Item } from './read-body.ts';
import type { Source } from './source.ts';

/** Arguments that become one argument. `undefined`: they stay as they are written; `''`: they go. */
export interface Group {
  readonly takes: readonly string[];
  readonly make: (items: readonly Item[], source: Source, block: Block) => string | undefined;
}

export interface TypeRow {
  readonly target: string;
  readonly same: readonly string[];
  readonly renames?: Readonly<Record<string, string>>;
  /** The only value that an argument may have; then it goes. */
  readonly only?: Readonly<Record<string, string | boolean>>;
  /** Arguments that go, with a remark. */
  readonly drops?: Readonly<Record<string, string>>;
  readonly groups?: readonly Group[];
  /** Attributes without a counterpart. */
  readonly gone?: Readonly<Record<string, string>>;
  /** Arguments to add when they are missing. */
  readonly adds?: Readonly<Record<string, string>>;
  /** Further resources, below this one. */
  readonly more?: (block: Block, source: Source) => string;
  /** The id for an import, as arguments of this type: `[['pool'], '/', ['name']]`; undefined where only the server knows it. */
  readonly id?: readonly (string | readonly string[])[];
  readonly idMore?: (block: Block, source: Source) => string;
  readonly hasNoProject?: true;
}

/** Arguments of every resource of Terraform. */
export const metaArguments = ['count', 'for_each', 'depends_on', 'lifecycle', 'provider', 'provisioner', 'connection'];
