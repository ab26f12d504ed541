// Serves a provider's resources, data sources and functions: one method for each call of Terraform. Values in, values out.
import type { AnyAction } from './actions/action.ts';
import { invokeAction, planAction } from './actions/run-action.ts';
import { applyChange, type Applied, type ApplyInput } from './apply.ts';
import type { Attributes } from './attribute.ts';
import { DiagnosticError, failure, hasErrors, type Diagnostic } from './diagnostic.ts';
import { EphemeralServer } from './ephemeral/ephemeral-server.ts';
import type { AnyEphemeralResource } from './ephemeral/ephemeral-resource.ts';
import { isImported, isImportedIn, markImport } from './import-mark.ts';
import { isMoved, markMove } from './move-mark.ts';
import { listObjects, type ListEvent, type ListRequest } from './listing/list-objects.ts';
import type { Listing } from './listing/listing.ts';
import { withoutNullEntries } from './null-entries.ts';
import type { ConfigOf, PrivateData } from './object-type.ts';
import type { ResourceDeps } from './operation.ts';
import { planResource } from './plan-resource.ts';
import {
  importIdOf,
  type AnyDataSource,
  type AnyProvider,
  type AnyResource,
  type Configured,
  type MoveSource,
  type ProviderFunction,
} from './provider.ts';
import { readDataSource } from './read-data.ts';
import { readResource } from './read-resource.ts';
import { redacted } from './redact.ts';
import type { Identity, PlanResult, ReadResult, StateResult } from './results.ts';
import { readStoredState, StoredStateError, type JsonObject } from './stored-state.ts';
import { validateAttributes, type ValidateFacts } from './validate.ts';
import type { Value, ValueMap } from './value.ts';

const asConfig = (values: ValueMap): ConfigOf<Attributes> => values as ConfigOf<Attributes>;

/** Lives as long as its process; `close` closes the client that `configure` opened. */
export class ProviderServer<C> {
  readonly provider: AnyProvider<C>;
  readonly #resources: ReadonlyMap<string, AnyResource<C>>;
  readonly #dataSources: ReadonlyMap<string, AnyDataSource<C>>;
  readonly #functions: ReadonlyMap<string, ProviderFunction>;
  readonly #ephemeral: ReadonlyMap<string, AnyEphemeralResource<C>>;
  readonly #actions: ReadonlyMap<string, AnyAction<C>>;
  readonly #stopping = new AbortController();
  #configured: Configured<C> | undefined;
  /** Each run of Terraform configures the provider. */
  #run = '';

  constructor(provider: AnyProvider<C>) {
    this.provider = provider;
    this.#resources = new Map(provider.resources.map((each) => [each.typeName, each]));
    this.#dataSources = new Map(provider.dataSources.map((each) => [each.typeName, each]));
    this.#functions = new Map(provider.functions.map((each) => [each.name, each]));
    this.#actions = new Map((provider.actions ?? []).map((each) => [each.typeName, each]));
    this.#ephemeral = new Map(provider.ephemeralResources.map((each) => [each.typeName, each]));
  }

  resource(typeName: string): AnyResource<C> {
    return known(this.#resources.get(typeName), 'resource', typeName);
  }
  dataSource(typeName: string): AnyDataSource<C> {
    return known(this.#dataSources.get(typeName), 'data source', typeName);
  }
  function(name: string): ProviderFunction {
    return known(this.#functions.get(name), 'function', name);
  }
  ephemeral(typeName: string): EphemeralServer<C> {
    const resource = known(this.#ephemeral.get(typeName), 'ephemeral resource', typeName);
    const { provider } = this;
    const stopping = this.#stopping.signal;
    const unconfigured = (what: string): Diagnostic => this.#unconfigured(what);
    return new EphemeralServer({ provider, resource, client: this.#client(), stopping, unconfigured });
  }

  listing(typeName: string): Listing<C> {
    return known(this.resource(typeName).listing, 'list resource', typeName);
  }
  action(typeName: string): AnyAction<C> {
    return known(this.#actions.get(typeName), 'action', typeName);
  }

  validateListing(typeName: string, config: ValueMap): readonly Diagnostic[] {
    return validateAttributes(this.listing(typeName).attributes, config, { writeOnlyAllowed: false });
  }

  async *list(typeName: string, request: ListRequest): AsyncGenerator<ListEvent> {
    const [listing, client] = [this.listing(typeName), this.#client()];
    if (client === undefined) yield { title: '', state: null, diagnostics: [this.#unconfigured(`list ${typeName}`)] };
    else yield* listObjects(this.#deps(this.resource(typeName), client), listing, request);
  }

  validateAction(typeName: string, config: ValueMap): readonly Diagnostic[] {
    const action = this.action(typeName);
    const found = validateAttributes(action.attributes, config, { writeOnlyAllowed: false });
    return redacted([...found, ...(action.validate?.(asConfig(config)) ?? [])], action.attributes, [config]);
  }

  /** Terraform may plan an action before the configuration of its provider is known. */
  async planAction(typeName: string, config: ValueMap): Promise<readonly Diagnostic[]> {
    const client = this.#client();
    return client === undefined ? [] : planAction(this.#actionDeps(typeName, client), config);
  }

  async invokeAction(
    typeName: string,
    config: ValueMap,
    sendProgress: (line: string) => void,
  ): Promise<readonly Diagnostic[]> {
    const client = this.#client();
    if (client === undefined) return [this.#unconfigured(`run the action ${typeName}`)];
    return invokeAction(this.#actionDeps(typeName, client), config, sendProgress);
  }

  #actionDeps(typeName: string, client: C) {
    return { provider: this.provider, action: this.action(typeName), client, stopping: this.#stopping.signal };
  }

  validateProvider(config: ValueMap, facts: ValidateFacts): readonly Diagnostic[] {
    const found = validateAttributes(this.provider.attributes, config, facts);
    return [...found, ...(this.provider.validate?.(asConfig(config)) ?? [])];
  }

  async configure(config: ValueMap): Promise<readonly Diagnostic[]> {
    const diagnostics: Diagnostic[] = [];
    this.#run = crypto.randomUUID();
    try {
      await this.#configured?.close();
      this.#configured = undefined;
      const add = (diagnostic: Diagnostic): void => void diagnostics.push(diagnostic);
      this.#configured = await this.provider.configure(asConfig(config), add, AbortSignal.timeout(60_000));
    } catch (error) {
      diagnostics.push(...this.#explain(`configure the provider ${this.provider.name}`, error));
    }
    return diagnostics;
  }

  validateResource(typeName: string, written: ValueMap, facts: ValidateFacts): readonly Diagnostic[] {
    const resource = this.resource(typeName);
    const config = withoutNullEntries(resource.attributes, written);
    const found = validateAttributes(resource.attributes, config, facts);
    const all = [...found, ...(resource.validate?.(asConfig(config)) ?? [])];
    return redacted(all, resource.attributes, [config]);
  }

  validateDataSource(typeName: string, config: ValueMap, facts: ValidateFacts): readonly Diagnostic[] {
    const { attributes } = this.dataSource(typeName);
    return validateAttributes(attributes, withoutNullEntries(attributes, config), facts);
  }

  upgrade(typeName: string, stored: { readonly version: number; readonly json: string }): StateResult {
    const { attributes, version = 0, upgrades } = this.resource(typeName);
    try {
      return { state: readStoredState(attributes, version, upgrades ?? {}, stored), diagnostics: [] };
    } catch (error) {
      if (!(error instanceof StoredStateError || error instanceof SyntaxError)) throw error;
      const detail = `The state of this ${typeName} cannot be read: ${error.message}.`;
      return { state: null, diagnostics: [failure(`Cannot read a stored ${typeName}`, detail)] };
    }
  }

  read(typeName: string, state: ValueMap, privateData: PrivateData): Promise<ReadResult> {
    const resource = this.resource(typeName);
    const client = this.#client();
    if (client !== undefined) return readResource(this.#deps(resource, client), state, privateData);
    return Promise.resolve({ state, privateData, diagnostics: [this.#unconfigured(`read ${typeName}`)] });
  }

  plan(
    typeName: string,
    config: ValueMap | null,
    prior: ValueMap | null,
    privateData: PrivateData = {},
  ): Promise<PlanResult> {
    const deps = { resource: this.resource(typeName), client: this.#client(), explain: this.#explain.bind(this) };
    const isNew = isImportedIn(this.#run, privateData);
    const takenBy = isMoved(privateData) ? 'moved' : isNew ? 'imported' : undefined;
    return planResource(deps, { config, prior, isImported: isImported(privateData), takenBy, privateData });
  }

  async apply(typeName: string, input: ApplyInput): Promise<Applied> {
    const resource = this.resource(typeName);
    const client = this.#client();
    if (client === undefined) {
      return {
        state: input.prior,
        privateData: input.privateData,
        diagnostics: [this.#unconfigured(`apply ${typeName}`)],
      };
    }
    const applied = await applyChange(this.#deps(resource, client), input);
    const { config, planned, prior } = input;
    return { ...applied, diagnostics: redacted(applied.diagnostics, resource.attributes, [config, planned, prior]) };
  }

  /** Returns only the values of the id: Terraform reads the rest right after it. */
  import(typeName: string, by: { readonly id: string } | { readonly identity: Identity }): ReadResult {
    const resource = this.resource(typeName);
    const client = this.#client();
    const privateData = markImport(this.#run);
    if (client === undefined)
      return { state: null, privateData, diagnostics: [this.#unconfigured(`import ${typeName}`)] };
    try {
      const id = 'id' in by ? by.id : importIdOf(resource, withoutNulls(by.identity));
      const found: JsonObject = resource.importing.parse(id, client) as JsonObject;
      const state = Object.keys(resource.attributes).map((name) => [name, (found[name] ?? null) as Value] as const);
      return { state: Object.fromEntries(state), privateData, diagnostics: [] };
    } catch (error) {
      return { state: null, privateData, diagnostics: this.#explain(`import ${typeName}`, error) };
    }
  }

  /** Works like an import: Terraform reads the rest from the server right after it. */
  move(source: Omit<MoveSource, 'state'> & { readonly json: string }): ReadResult {
    const { attributes } = this.resource(source.target);
    const state = JSON.parse(source.json) as JsonObject;
    if (this.provider.move === undefined)
      throw new DiagnosticError([failure(`A moved block cannot target ${source.target}`, '')]);
    const found = this.provider.move({ ...source, state });
    return {
      state: Object.fromEntries(Object.keys(attributes).map((name) => [name, (found[name] ?? null) as Value] as const)),
      privateData: markMove(),
      diagnostics: [],
    };
  }

  async readData(typeName: string, config: ValueMap): Promise<StateResult> {
    const source = this.dataSource(typeName);
    const client = this.#client();
    if (client === undefined) return { state: null, diagnostics: [this.#unconfigured(`read ${typeName}`)] };
    return readDataSource({ provider: this.provider, source, client, stopping: this.#stopping.signal }, config);
  }

  /** Undefined while a part of the configuration is unknown. */
  identityOf(typeName: string, state: ValueMap | null): Identity | undefined {
    if (state === null) return undefined;
    const { identity, optionalIdentity = [] } = this.resource(typeName);
    const members = [...identity, ...optionalIdentity].map((name) => [name, state[name] ?? null] as const);
    const isComplete = members.every(
      ([name, value]) => typeof value === 'string' || (value === null && !identity.includes(name)),
    );
    return isComplete ? (Object.fromEntries(members) as Identity) : undefined;
  }

  /** The user interrupted: running operations end where they can. */
  stop(): void {
    this.#stopping.abort(new Error('interrupted'));
  }

  async close(): Promise<void> {
    await this.#configured?.close();
    this.#configured = undefined;
  }

  #deps(resource: AnyResource<C>, client: C): ResourceDeps<C> {
    return { provider: this.provider, resource, client, stopping: this.#stopping.signal };
  }

  #client(): C | undefined {
    return this.#configured?.client;
  }

  #unconfigured(what: string): Diagnostic {
    const detail =
      'Parts of its configuration are known only after apply. Use values that are known before, or apply in two steps with -target.';
    return failure(`Cannot ${what}: the provider ${this.provider.name} is not configured`, detail);
  }

  #explain(what: string, error: unknown): readonly Diagnostic[] {
    if (error instanceof DiagnosticError) return error.diagnostics;
    const found = this.provider.explain(what, error);
    return hasErrors(found) ? found : [...found, failure(`Cannot ${what}`, String(error))];
  }
}

const withoutNulls = (identity: Identity): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(identity).filter((entry): entry is [string, string] => entry[1] !== null));

function known<T>(found: T | undefined, kind: string, name: string): T {
  if (found === undefined) {
    const detail = 'Another version of the provider may have it.';
    throw new DiagnosticError([failure(`This provider has no ${kind} ${name}`, detail)]);
  }
  return found;
}
