// The parts of a provider: resources, data sources and functions, as their authors write them. Runs nothing.
import type { Attributes, StateOf } from './attribute.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { AnyEphemeralResource } from './ephemeral/ephemeral-resource.ts';
import type { ConfigOf, Context, CreateContext, DraftOf, ObjectType } from './object-type.ts';
import type { Path } from './path.ts';
import type { JsonObject, Upgrades } from './stored-state.ts';
import type { OperationName } from './timeouts.ts';
import type { Type } from './type.ts';
import type { Value } from './value.ts';

export interface PlanHook<A extends Attributes, C> {
  readonly config: ConfigOf<A>;
  /** Null for a creation. */
  readonly prior: StateOf<A> | null;
  readonly planned: DraftOf<A>;
  /** Computed values have been made unknown, since something differs. */
  readonly differs: boolean;
  /** The state is that of an import, which no apply has followed yet. */
  readonly isImported: boolean;
  /** Absent while the provider's own configuration is not known yet. */
  readonly client: C | undefined;
  readonly replace: (path: Path) => void;
  readonly add: (diagnostic: Diagnostic) => void;
}

/** An object read back: attributes left out are as they were. Null: it is gone. */
export type ReadBack<A extends Attributes> = Partial<StateOf<A>> | null;

export interface Wanted<A extends Attributes> {
  /** The plan, null where it is unknown. */
  readonly planned: StateOf<A>;
  /** Where write-only values are. */
  readonly config: ConfigOf<A>;
}

export interface Resource<A extends Attributes, C> extends ObjectType<A> {
  /** Version of the schema, 0 when left out; grows when stored states need an upgrade. */
  readonly version?: number;
  readonly upgrades?: Upgrades;
  /** Attributes, all texts, that tell one object from another. */
  readonly identity: readonly (keyof A & string)[];
  /** More of those, which an object may lack. */
  readonly optionalIdentity?: readonly string[];
  readonly timeoutsMs?: Partial<Readonly<Record<OperationName, number>>>;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  plan?(hook: PlanHook<A, C>): Promise<void> | void;
  planDelete?(prior: StateOf<A>): readonly Diagnostic[];
  read(state: StateOf<A>, context: Context<C>): Promise<ReadBack<A>>;
  /** Returns computed values that cannot be read back. The object is read after it. */
  create(wanted: Wanted<A>, context: CreateContext<C>): Promise<Partial<StateOf<A>> | void>;
  update(wanted: Wanted<A>, prior: StateOf<A>, context: Context<C>): Promise<Partial<StateOf<A>> | void>;
  /** An object that no longer exists counts as deleted. */
  delete(prior: StateOf<A>, context: Context<C>): Promise<void>;
  /** What `import` says of it; the rest is read. Throws DiagnosticError for an id that is none. */
  readonly importing: {
    /** For the documentation: what the id is made of, and one. */
    readonly doc: string;
    readonly example: string;
    parse(id: string, client: C): Partial<StateOf<A>>;
    /** The id of the attributes named by `identity`; left out: their values, joined by slashes. */
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
  readonly example: string;
  readonly parameters: readonly FunctionParameter[];
  readonly returns: Type;
  /** Throws FunctionError. */
  call(values: readonly Value[]): Value;
}

export class FunctionError extends Error {
  override readonly name = 'FunctionError';
  /** Position of the parameter that is wrong. */
  readonly parameter: number;
  constructor(message: string, parameter: number) {
    super(message);
    this.parameter = parameter;
  }
}

export type AnyResource<C> = Resource<Attributes, C>;
export type AnyDataSource<C> = DataSource<Attributes, C>;

/** The import id of the object with this identity. */
export const importIdOf = <C>(
  { importing, identity }: AnyResource<C>,
  values: Readonly<Record<string, string>>,
): string => importing.id?.(values) ?? identity.map((name) => values[name] ?? '').join('/');

/** Checks the definition's types and forgets them: a provider lists resources of all shapes. */
export const resource =
  <C>() =>
  <A extends Attributes>(definition: Resource<A, C>): AnyResource<C> =>
    definition as unknown as AnyResource<C>;

export const dataSource =
  <C>() =>
  <A extends Attributes>(definition: DataSource<A, C>): AnyDataSource<C> =>
    definition;

export interface Configured<C> {
  readonly client: C;
  close(): Promise<void>;
}

/** An object in a state of another provider, or of another type, that a `moved` block makes one of ours. */
export interface MoveSource {
  /** `registry.terraform.io/namespace/name`. */
  readonly provider: string;
  readonly type: string;
  /** Of the schema there. */
  readonly version: number;
  readonly state: JsonObject;
  /** The type here. */
  readonly target: string;
}

export interface Provider<A extends Attributes, C> {
  /** Prefix of all its types. */
  readonly name: string;
  readonly doc: string;
  readonly example: string;
  readonly attributes: A;
  validate?(config: ConfigOf<A>): readonly Diagnostic[];
  /** Undefined: too much of the configuration is unknown to begin. Throws DiagnosticError. */
  configure(
    config: ConfigOf<A>,
    add: (diagnostic: Diagnostic) => void,
    signal: AbortSignal,
  ): Promise<Configured<C> | undefined>;
  readonly resources: readonly AnyResource<C>[];
  readonly dataSources: readonly AnyDataSource<C>[];
  readonly functions: readonly ProviderFunction[];
  readonly ephemeralResources: readonly AnyEphemeralResource<C>[];
  /** Attributes that say which object it is; the rest is read. Throws DiagnosticError for what cannot be moved. */
  move?(source: MoveSource): JsonObject;
  /** An error of an operation in words for users; `what` was tried. */
  explain(what: string, error: unknown): readonly Diagnostic[];
}

export type AnyProvider<C> = Provider<Attributes, C>;
