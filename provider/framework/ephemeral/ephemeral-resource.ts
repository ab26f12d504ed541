// The definition of an ephemeral resource, as its author writes it: values that exist only while Terraform runs, in no state or plan.
import type { Attributes, StateOf } from '../attribute.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { ConfigOf, Context, ObjectType } from '../object-type.ts';

export interface Opened<A extends Attributes> {
  /** The values that the configuration does not give. */
  readonly values: Partial<StateOf<A>>;
  /** When Terraform must call `renew` if it still uses the values. */
  readonly renewAt?: Date;
}

/** `renew` and `close` get the private data that `open` writes. */
export interface EphemeralResource<A extends Attributes, C> extends ObjectType<A> {
  /** Time limit of each operation; default: a minute. */
  readonly timeoutMs?: number;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  /** The configuration with its defaults. */
  open(config: StateOf<A>, context: Context<C>): Promise<Opened<A>>;
  /** Returns when to renew again. */
  renew?(context: Context<C>): Promise<Date | undefined>;
  close?(context: Context<C>): Promise<void>;
}

export type AnyEphemeralResource<C> = EphemeralResource<Attributes, C>;

/** Checks the types of the definition, then erases them. */
export const ephemeralResource =
  <C>() =>
  <A extends Attributes>(definition: EphemeralResource<A, C>): AnyEphemeralResource<C> =>
    definition;
