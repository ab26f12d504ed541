// The definition of an action, as its author writes it: a one-time operation without an object in the state (Terraform 1.14).
import type { Attributes, StateOf } from '../attribute.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { ConfigOf, Context, ObjectType } from '../object-type.ts';

export interface ActionContext<C> extends Context<C> {
  /** Sends one line of progress to the user. */
  readonly sendProgress: (line: string) => void;
}

export interface Action<A extends Attributes, C> extends ObjectType<A> {
  readonly timeoutMs: number;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  /** Reports problems before anything is done. Values that are known only after apply are null. */
  plan?(config: StateOf<A>, context: Context<C>): Promise<void>;
  invoke(config: StateOf<A>, context: ActionContext<C>): Promise<void>;
}

export type AnyAction<C> = Action<Attributes, C>;
