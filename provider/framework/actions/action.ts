// The definition of an action, as its author writes it: something to do now, with no object in the state (Terraform 1.14).
import type { Attributes, StateOf } from '../attribute.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { ConfigOf, Context, ObjectType } from '../object-type.ts';

export interface ActionContext<C> extends Context<C> {
  /** One line for the person who waits. */
  readonly sendProgress: (line: string) => void;
}

export interface Action<A extends Attributes, C> extends ObjectType<A> {
  readonly timeoutMs: number;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  /** Problems that show before anything is done. Values that an apply makes known are null. */
  plan?(config: StateOf<A>, context: Context<C>): Promise<void>;
  invoke(config: StateOf<A>, context: ActionContext<C>): Promise<void>;
}

export type AnyAction<C> = Action<Attributes, C>;
