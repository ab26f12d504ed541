// The results of operations on resources and data sources.
import type { Diagnostic } from './diagnostic.ts';
import type { PrivateData } from './object-type.ts';
import type { Path } from './path.ts';
import type { ValueMap } from './value.ts';

export interface ReadResult {
  readonly state: ValueMap | null;
  readonly privateData: PrivateData;
  readonly diagnostics: readonly Diagnostic[];
}

export interface PlanResult {
  readonly planned: ValueMap | null;
  readonly replace: readonly Path[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface StateResult {
  readonly state: ValueMap | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** The state that a `moved` block begins with. */
export interface MoveResult extends StateResult {
  readonly privateData: PrivateData;
}

/** The identity of an object; null for an optional part that it lacks. */
export type Identity = Readonly<Record<string, string | null>>;
