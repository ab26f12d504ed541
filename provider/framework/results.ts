// The results of operations on resources and data sources.
import type { Diagnostic } from './diagnostic.ts';
import type { PrivateData } from './object-type.ts';
import type { Path } from './path.ts';
import type { ValueMap } from './value.ts';

/** Also of an import, and of the state that a `moved` block begins with. */
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

/** The identity of an object; null for an optional part that it lacks. */
export type Identity = Readonly<Record<string, string | null>>;
