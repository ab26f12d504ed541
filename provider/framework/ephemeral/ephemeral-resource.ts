// What an ephemeral resource is made of, as its author writes it: values that exist while Terraform runs, in no state and no plan.
import type { Attributes, StateOf } from '../attribute.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { ConfigOf, Context, ObjectType } from '../object-type.ts';

export interface Opened<A extends Attributes> {
  /** What the configuration does not say. */
  readonly values: Partial<StateOf<A>>;
  /** When `renew` has to be called, if it is still in use then. */
  readonly renewAt?: Date;
}

/** Private data that `open` writes is what `renew` and `close` are given. */
export interface EphemeralResource<A extends Attributes, C> extends ObjectType<A> {
  /** Limit of each operation; a minute when left out. */
  readonly timeoutMs?: number;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  /** The configuration with its defaults. */
  open(config: StateOf<A>, context: Context<C>): Promise<Opened<A>>;
  /** Returns when to renew again. */
  renew?(context: Context<C>): Promise<Date | undefined>;
  close?(context: Context<C>): Promise<void>;
}

export type AnyEphemeralResource<C> = EphemeralResource<Attributes, C>;

/** Checks the definition's types and forgets them. */
export const ephemeralResource =
  <C>() =>
  <A extends Attributes>(definition: EphemeralResource<A, C>): AnyEphemeralResource<C> =>
    definition;
