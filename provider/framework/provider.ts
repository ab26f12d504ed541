// The types of a provider's parts: resources, data sources and functions, as their authors write them. Runs nothing.
import type { Attributes, StateOf } from './attribute.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { AnyEphemeralResource } from './ephemeral/ephemeral-resource.ts';
import type { AnyAction } from './actions/action.ts';
import type { Listing } from './listing/listing.ts';
import type { ConfigOf, Context, CreateContext, DraftOf, ObjectType, PrivateData } from './object-type.ts';
import type { Path } from './path.ts';
import type { JsonObject, Upgrades } from './stored-state.ts';
import type { OperationName } from './timeouts.ts';
import type { Type } from './type.ts';
import type { Value } from './value.ts';

/** The block that has taken the object over: a `moved` block until the first update, an `import` block in its own run. */
export type TakenBy = 'moved' | 'imported' | undefined;

export interface PlanHook<A extends Attributes, C> {
  readonly config: ConfigOf<A>;
  /** Null for a creation. */
  readonly prior: StateOf<A> | null;
  readonly planned: DraftOf<A>;
  /** True when something differs, so that computed values are unknown. */
  readonly differs: boolean;
  /** True between an import and the first apply. */
  readonly isImported: boolean;
  readonly takenBy: TakenBy;
  readonly privateData: PrivateData;
  /** Absent while the configuration of the provider is not known yet. */
  readonly client: C | undefined;
  readonly replace: (path: Path) => void;
  readonly add: (diagnostic: Diagnostic) => void;
}

/** An object read back: missing attributes keep their former values. Null when the object is gone. */
export type ReadBack<A extends Attributes> = Partial<StateOf<A>> | null;

export interface WriteRequest<A extends Attributes> {
  /** The plan, with null for unknown values. */
  readonly planned: StateOf<A>;
  /** The configuration, with write-only values. */
  readonly config: ConfigOf<A>;
}

export interface Resource<A extends Attributes, C> extends ObjectType<A> {
  /** Version of the schema, default 0; increase it when stored states need an upgrade. */
  readonly version?: number;
  readonly upgrades?: Upgrades;
  /** Attributes, all strings, that identify an object. */
  readonly identity: readonly (keyof A & string)[];
  /** Further identifying attributes, which an object may lack. */
  readonly optionalIdentity?: readonly string[];
  readonly timeoutsMs?: Partial<Readonly<Record<OperationName, number>>>;
  /** Added to the default limit of an operation: what the object has limits of its own for. */
  addedLimitMs?(operation: OperationName, values: StateOf<A>): number;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  plan?(hook: PlanHook<A, C>): Promise<void> | void;
  planDelete?(prior: StateOf<A>): readonly Diagnostic[];
  read(state: StateOf<A>, context: Context<C>): Promise<ReadBack<A>>;
  /** Returns computed values that cannot be read back. The framework reads the object afterwards. */
  create(wanted: WriteRequest<A>, context: CreateContext<C>): Promise<Partial<StateOf<A>> | void>;
  update(wanted: WriteRequest<A>, prior: StateOf<A>, context: Context<C>): Promise<Partial<StateOf<A>> | void>;
  /** A missing object counts as deleted. */
  delete(prior: StateOf<A>, context: Context<C>): Promise<void>;
  /** How `terraform query` finds the objects; absent: not supported. */
  readonly listing?: Listing<C>;
  /** The values from the import id; the framework reads the rest. Throws DiagnosticError for an invalid id. */
  readonly importing: {
    /** For the documentation: the parts of the id, and an example. */
    readonly doc: string;
    readonly example: string;
    parse(id: string, client: C): Partial<StateOf<A>>;
    /** The id for the attributes named by `identity`; default: their values, joined by slashes. */
    id?(identity: Readonly<Record<string, string>>): string;
  };
}

export interface DataSource<A extends Attributes, C> extends ObjectType<A> {
  read(config: StateOf<A>, context: Context<C>): Promise<Partial<StateOf<A>>>;
}

export interface FunctionParameter {
  readonly name: string;
  readonly type: Type;
  readonly doc: string;
}

export interface ProviderFunction {
  readonly name: string;
  readonly summary: string;
  readonly doc: string;
  readonly parameters: readonly FunctionParameter[];
  readonly returns: Type;
  /** Throws FunctionError. */
  call(values: readonly Value[]): Value;
}

export class FunctionError extends Error {
  override readonly name = 'FunctionError';
  /** Position of the wrong parameter. */
  readonly parameter: number;
  constructor(message: string, parameter: number) {
    super(message);
    this.parameter = parameter;
  }
}

export type AnyResource<C> = Resource<Attributes, C>;
export type AnyDataSource<C> = DataSource<Attributes, C>;

/** The list resources of a provider: each has the type name of a resource and the attributes of a `config` block. */
export const listable = <C>({ resources }: Pick<AnyProvider<C>, 'resources'>) =>
  resources.flatMap(({ typeName, listing }) => (listing === undefined ? [] : [{ typeName, ...listing }]));

/** The import id of the object with this identity. */
export const importIdOf = <C>(
  { importing, identity }: AnyResource<C>,
  values: Readonly<Record<string, string>>,
): string => importing.id?.(values) ?? identity.map((name) => values[name] ?? '').join('/');

/** Checks the types of the definition, then erases them: a provider lists resources of all shapes. */
export const resource =
  <C>() =>
  <A extends Attributes>(definition: Resource<A, C>): AnyResource<C> =>
    erased(definition);

/** The compiler accepts the definition itself, or refuses it, by the order in which it reads the files. */
const erased = <C>(definition: unknown): AnyResource<C> => definition as AnyResource<C>;

export interface Configured<C> {
  readonly client: C;
  close(): Promise<void>;
}

/** An object in the state of another provider or type that a `moved` block turns into one of this provider. */
export interface MoveSource {
  /** `registry.terraform.io/namespace/name`. */
  readonly provider: string;
  readonly type: string;
  /** Version of the schema there. */
  readonly version: number;
  readonly state: JsonObject;
  /** The target type in this provider. */
  readonly target: string;
}

export interface Provider<A extends Attributes, C> {
  /** Prefix of all its types. */
  readonly name: string;
  readonly doc: string;
  readonly attributes: A;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  /** Undefined while needed parts of the configuration are unknown. Throws DiagnosticError. */
  configure(
    config: ConfigOf<A>,
    add: (diagnostic: Diagnostic) => void,
    signal: AbortSignal,
  ): Promise<Configured<C> | undefined>;
  readonly resources: readonly AnyResource<C>[];
  readonly dataSources: readonly AnyDataSource<C>[];
  readonly functions: readonly ProviderFunction[];
  readonly ephemeralResources: readonly AnyEphemeralResource<C>[];
  readonly actions?: readonly AnyAction<C>[];
  /** Attributes that identify the object; the framework reads the rest. Throws DiagnosticError for an object that cannot move. */
  move?(source: MoveSource): JsonObject;
  /** Turns an error of an operation into messages for users; `what` names the operation. */
  explain(what: string, error: unknown): readonly Diagnostic[];
}

export type AnyProvider<C> = Provider<Attributes, C>;
