// Types that resources, data sources and ephemeral resources share: a type with attributes, its configuration, and the context of operations.
import type { Attributes, StateOf } from './attribute.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { Planned } from './value.ts';

/** The configuration: parts may be unknown, write-only values are present. */
export type ConfigOf<A extends Attributes> = { readonly [Name in keyof A]: Planned<StateOf<A>[Name]> | null };
/** A plan in the making. */
export type DraftOf<A extends Attributes> = { -readonly [Name in keyof A]: Planned<StateOf<A>[Name]> };

/** Terraform stores it with the state and never shows it. */
export type PrivateData = Record<string, string>;

/** The key of private data for the version of the object under which the state was read. */
export const versionKey = 'etag';

/** The context of an operation. `C`: the provider's client. */
export interface Context<C> {
  readonly client: C;
  /** Aborted when the time limit of the operation has passed. */
  readonly signal: AbortSignal;
  /** Aborted when the user wants to stop. End plain waits, but finish steps that must not stay half done. */
  readonly stopping: AbortSignal;
  readonly privateData: PrivateData;
  readonly warn: (diagnostic: Diagnostic) => void;
}

export interface CreateContext<C> extends Context<C> {
  /** Call it just before the object may exist: from then on the state keeps the object, also after an error. */
  readonly mayExist: () => void;
  /** Whether such an object exists already; the first call decides. False when it cannot be read. */
  readonly wasThere: () => Promise<boolean>;
}

export interface ObjectType<A extends Attributes> {
  /** The name, prefixed by the provider: `svc_thing`. */
  readonly typeName: string;
  /** One paragraph for the documentation. */
  readonly doc: string;
  readonly attributes: A;
}
