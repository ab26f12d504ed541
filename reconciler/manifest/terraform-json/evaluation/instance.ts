// The result of an evaluation: instances of resources with their values, and the modules that they are in. Types only.
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import type { Piece, Resource } from '../config/blocks.ts';
import type { Value } from '../expression/values.ts';
import type { Members } from './argument-shapes.ts';
import type { ModuleTree } from '../config/module-tree.ts';
import type { FileReader } from '../expression/functions/file-reader.ts';
import type { Report } from '../problem.ts';
import type { ExpressionCache, References } from './references.ts';
import type { VariableSetting } from './variables.ts';

/** The facts about a resource type that the evaluation needs: the attributes for references besides its arguments. */
export interface ReferableType {
  readonly arguments: ReadonlySet<string>;
  /** The shapes of arguments; arguments without a shape stay as written. */
  readonly shapes?: Members;
  /** Arguments with a default of the provider. */
  readonly filled?: ReadonlySet<string>;
  /** From the arguments, or unknown before an apply. */
  readonly computed: Readonly<Record<string, (values: Readonly<Record<string, Value>>, resourceName: string) => Value>>;
}

export interface Instance {
  readonly resource: Resource;
  /** The instance of the module that it is in. */
  readonly module: Module;
  /** `gantry_container.web[0]`, `module.net["a"].gantry_network.lan`. */
  readonly address: string;
  /** `web[0]`, with its module path: the name of documents without a name on the server. */
  readonly name: string;
  /** The value of references: arguments, and attributes that an apply fills in. */
  readonly values: Readonly<Record<string, Value>>;
  /** The written arguments. */
  readonly args: Readonly<Record<string, Value>>;
  /** Arguments that contain a value of a sensitive variable. */
  readonly sensitive: ReadonlySet<string>;
}

/** Names that are valid at a place, in addition to those of the module. */
export interface Context {
  readonly place: Pick<Piece, 'file' | 'steps' | 'construct'>;
  readonly each?: { readonly key: Value; readonly value: Value };
  readonly count?: number;
  readonly self?: Value;
  /** The block, whose `for_each` gives `each.value`. */
  readonly block?: JsonObject;
}

/** The request of a data source to the server. */
export interface DataRequest {
  readonly type: string;
  readonly args: Readonly<Record<string, Json>>;
  readonly project?: string;
}

/** Undefined: not requested yet, or there is no server. `isMissing`: the object does not exist. */
export type DataAnswer =
  | { readonly value: Value }
  | { readonly error: string; readonly isMissing: boolean }
  | undefined;

/** State that all modules of one evaluation share. */
export interface EvaluationState {
  /** Variables of the root by name. */
  readonly given: ReadonlyMap<string, VariableSetting>;
  readonly typeOf: (type: string) => ReferableType | undefined;
  readonly dataTypeOf: (type: string) => ReferableType | undefined;
  readonly read: (request: DataRequest) => DataAnswer;
  readonly report: Report;
  readonly files: FileReader;
  readonly parsed: ExpressionCache;
  /** The values under evaluation, outermost first. */
  readonly busy: string[];
  /** Warns about data sources inside of check blocks. */
  readonly warn: (text: string) => void;
}

export interface Repetition {
  /** Nothing, `[0]`, `["a"]`. */
  readonly key: string;
  readonly context: Context;
}

/** One instance of a module, as its resources know it. */
export interface Module {
  readonly tree: ModuleTree;
  /** `module.net["a"].`; of the root nothing. */
  readonly address: string;
  readonly parent: Module | undefined;
  readonly references: References;
  readonly shared: EvaluationState;
  needsOf(resource: Resource): ReadonlySet<string>;
  /** True unless both are in different instances of one module block. */
  isRelated(other: Module): boolean;
  evaluate(json: Json, context: Context): Value;
  /** Undefined, with a problem, when `count` or `for_each` is unusable or unknown. */
  repetition(piece: Piece): readonly Repetition[] | undefined;
  judge(kind: 'precondition' | 'postcondition', resource: Resource, context: Context): void;
}
