// What evaluation gives: instances of resources with their values. No code but what their names are.
import type { Json } from '../../../core/documents/document.ts';
import type { Piece, Resource } from '../config/blocks.ts';
import type { Value } from '../expression/values.ts';
import type { Members } from '../types/argument-shapes.ts';
import type { ModuleEvaluation } from './module-evaluation.ts';

/** What the evaluation must know of a resource type: what can be referred to beyond its arguments. */
export interface ReferableType {
  readonly arguments: ReadonlySet<string>;
  /** What they are made into; of those that are not here, whatever is written. */
  readonly shapes?: Members;
  /** Arguments that have a value, known to the provider, also where none is written. */
  readonly filled?: ReadonlySet<string>;
  /** From the arguments, or unknown before an apply. */
  readonly computed: Readonly<Record<string, (values: Readonly<Record<string, Value>>, resourceName: string) => Value>>;
}

export interface Instance {
  readonly resource: Resource;
  /** The instance of the module that it is in. */
  readonly module: ModuleEvaluation;
  /** `gantry_container.web[0]`, `module.net["a"].gantry_network.lan`. */
  readonly address: string;
  /** `web[0]`, in modules with the way to them: what documents without a name on the server are called. */
  readonly name: string;
  /** What references see: arguments, and what an apply fills in. */
  readonly values: Readonly<Record<string, Value>>;
  /** What is written. */
  readonly args: Readonly<Record<string, Value>>;
  /** Arguments with something in them that came out of a sensitive variable. */
  readonly sensitive: ReadonlySet<string>;
}

/** What names mean at a place, beside those of the module. */
export interface Context {
  readonly place: Pick<Piece, 'file' | 'steps' | 'construct'>;
  readonly each?: { readonly key: Value; readonly value: Value };
  readonly count?: number;
  readonly self?: Value;
}

/** What a data source asks the server for. */
export interface DataRequest {
  readonly type: string;
  readonly args: Readonly<Record<string, Json>>;
  readonly project?: string;
}

/** Undefined: nobody has asked yet, or there is no server to ask. `isMissing`: there is no such object. */
export type DataAnswer =
  | { readonly value: Value }
  | { readonly error: string; readonly isMissing: boolean }
  | undefined;
