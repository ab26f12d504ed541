// What the operations on resources and data sources return.
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

/** What tells one object from another; null: what it need not have. */
export type Identity = Readonly<Record<string, string | null>>;
