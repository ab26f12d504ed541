// The calls of Terraform: reads each message, passes values to the framework, writes the answer. Decides nothing.
import { DiagnosticError } from '../framework/diagnostic.ts';
import { FunctionError, listable, type AnyResource } from '../framework/provider.ts';
import type { Identity } from '../framework/results.ts';
import type { ProviderServer } from '../framework/server.ts';
import {
  asDynamic,
  asIdentity,
  caught,
  caughtLater,
  empty,
  identityType,
  objectOf,
  problemsAs,
  readPrivate,
  TypeTable,
  writePrivate,
} from './answers.ts';
import { asMethods, type ProviderCall } from './calls.ts';
import { actionCalls } from './action-calls.ts';
import { ephemeralCalls } from './ephemeral-calls.ts';
import { listingCalls } from './listing-calls.ts';
import type { Methods, Unary } from './grpc.ts';
import * as wire from './messages.ts';
import { typeBytes, wireDiagnostics, wireFunction, wirePath, wireSchema } from './schema.ts';
import { decodeValue, ValueError } from './values.ts';

type Calls<Name extends ProviderCall> = Readonly<Record<Name, Unary>>;

export function providerMethods<C>(server: ProviderServer<C>): Methods {
  const types = new TypeTable(server);
  const { ListResource, ...listing } = listingCalls(server, types);
  const { InvokeAction, ...actions } = actionCalls(server, types);
  return asMethods({
    unary: {
      ...schemaCalls(server),
      ...resourceCalls(server, types),
      ...identityCalls(server),
      ...ephemeralCalls(server, types),
      ...listing,
      ...actions,
      ...otherCalls(server, types),
    },
    streams: { ListResource, InvokeAction },
  });
}

const identityNames = <C>({ identity, optionalIdentity = [] }: AnyResource<C>): readonly string[] => [
  ...identity,
  ...optionalIdentity,
];

function schemaCalls<C>({
  provider,
}: ProviderServer<C>): Calls<'GetMetadata' | 'GetProviderSchema' | 'GetFunctions' | 'GetResourceIdentitySchemas'> {
  const capabilities = { planDestroy: true, schemaOptional: true, moveState: provider.move !== undefined };
  const named = <T>(list: readonly T[], name: (each: T) => string) => list.map((each) => ({ name: name(each) }));
  const functions = () => Object.fromEntries(provider.functions.map((each) => [each.name, wireFunction(each)]));
  let schema: Uint8Array | undefined;
  return {
    GetMetadata: () =>
      wire.MetadataReply.encode({
        capabilities,
        resources: named(provider.resources, ({ typeName }) => typeName),
        dataSources: named(provider.dataSources, ({ typeName }) => typeName),
        functions: named(provider.functions, ({ name }) => name),
        ephemeralResources: named(provider.ephemeralResources, ({ typeName }) => typeName),
        listResources: named(listable(provider), ({ typeName }) => typeName),
        actions: named(provider.actions ?? [], ({ typeName }) => typeName),
      }),
    GetProviderSchema: () =>
      (schema ??= wire.SchemaReply.encode({
        provider: wireSchema(0, provider.doc, provider.attributes),
        resources: Object.fromEntries(
          provider.resources.map((each) => [each.typeName, wireSchema(each.version ?? 0, each.doc, each.attributes)]),
        ),
        dataSources: Object.fromEntries(
          provider.dataSources.map((each) => [each.typeName, wireSchema(0, each.doc, each.attributes)]),
        ),
        functions: functions(),
        ephemeralResources: Object.fromEntries(
          provider.ephemeralResources.map((each) => [each.typeName, wireSchema(0, each.doc, each.attributes)]),
        ),
        listResources: Object.fromEntries(
          listable(provider).map(({ typeName, doc, attributes }) => [typeName, wireSchema(0, doc, attributes)]),
        ),
        actions: Object.fromEntries(
          (provider.actions ?? []).map((each) => [each.typeName, { schema: wireSchema(0, each.doc, each.attributes) }]),
        ),
        capabilities,
      })),
    GetFunctions: () => wire.FunctionsReply.encode({ functions: functions() }),
    GetResourceIdentitySchemas: () =>
      wire.IdentitySchemasReply.encode({
        schemas: Object.fromEntries(
          provider.resources.map((each) => [
            each.typeName,
            {
              version: 1,
              attributes: identityNames(each).map((name) => ({
                name,
                type: typeBytes('string'),
                requiredForImport: each.identity.includes(name),
                optionalForImport: !each.identity.includes(name),
                doc: each.attributes[name]?.doc ?? '',
              })),
            },
          ]),
        ),
      }),
  };
}

type ResourceCall =
  | 'UpgradeResourceState'
  | 'ReadResource'
  | 'PlanResourceChange'
  | 'ApplyResourceChange'
  | 'ImportResourceState'
  | 'MoveResourceState';

function resourceCalls<C>(server: ProviderServer<C>, types: TypeTable<C>): Calls<ResourceCall> {
  return {
    UpgradeResourceState(bytes) {
      const { typeName, version, raw } = wire.UpgradeRequest.decode(bytes);
      const failed = problemsAs(wire.UpgradeReply);
      return caught(() => {
        const json = Buffer.from(raw?.json ?? empty).toString('utf8');
        const { state, diagnostics } = server.upgrade(typeName, { version, json });
        if (diagnostics.length > 0) return failed(diagnostics);
        return wire.UpgradeReply.encode({ state: asDynamic(types.resource(typeName), state) });
      }, failed);
    },
    async ReadResource(bytes) {
      const request = wire.ReadRequest.decode(bytes);
      const failed = problemsAs(wire.ReadReply, request);
      return caughtLater(async () => {
        const type = types.resource(request.typeName);
        const state = objectOf(decodeValue(type, request.state)) ?? {};
        const read = await server.read(request.typeName, state, readPrivate(request.privateData));
        return wire.ReadReply.encode({
          state: asDynamic(type, read.state),
          privateData: writePrivate(read.privateData),
          diagnostics: wireDiagnostics(read.diagnostics),
          identity: asIdentity(server.identityOf(request.typeName, read.state)),
        });
      }, failed);
    },
    async PlanResourceChange(bytes) {
      const request = wire.PlanRequest.decode(bytes);
      const failed = problemsAs(wire.PlanReply, { planned: request.prior });
      return caughtLater(async () => {
        const type = types.resource(request.typeName);
        const prior = objectOf(decodeValue(type, request.prior));
        const config = objectOf(decodeValue(type, request.config));
        const plan = await server.plan(request.typeName, config, prior, readPrivate(request.privateData));
        return wire.PlanReply.encode({
          planned: asDynamic(type, plan.planned),
          replace: plan.replace.map(wirePath),
          privateData: request.privateData,
          diagnostics: wireDiagnostics(plan.diagnostics),
          identity: request.identity ?? asIdentity(server.identityOf(request.typeName, plan.planned)),
        });
      }, failed);
    },
    async ApplyResourceChange(bytes) {
      const request = wire.ApplyRequest.decode(bytes);
      const failed = problemsAs(wire.ApplyReply, { state: request.prior });
      return caughtLater(async () => {
        const type = types.resource(request.typeName);
        const applied = await server.apply(request.typeName, {
          prior: objectOf(decodeValue(type, request.prior)),
          planned: objectOf(decodeValue(type, request.planned)),
          config: objectOf(decodeValue(type, request.config)),
          privateData: readPrivate(request.privateData),
        });
        return wire.ApplyReply.encode({
          state: asDynamic(type, applied.state),
          privateData: writePrivate(applied.privateData),
          diagnostics: wireDiagnostics(applied.diagnostics),
          identity: asIdentity(server.identityOf(request.typeName, applied.state)),
        });
      }, failed);
    },
    MoveResourceState(bytes) {
      const { raw, ...source } = wire.MoveRequest.decode(bytes);
      const failed = problemsAs(wire.MoveReply);
      return caught(() => {
        const { state } = server.move({ ...source, json: Buffer.from(raw?.json ?? empty).toString('utf8') });
        const identity = asIdentity(server.identityOf(source.target, state));
        return wire.MoveReply.encode({ state: asDynamic(types.resource(source.target), state), identity });
      }, failed);
    },
    ImportResourceState(bytes) {
      const { typeName, id, identity } = wire.ImportRequest.decode(bytes);
      const failed = problemsAs(wire.ImportReply);
      return caught(() => {
        const type = types.resource(typeName);
        const names = identityNames(server.resource(typeName));
        const by =
          identity?.data === undefined
            ? { id }
            : { identity: decodeValue(identityType(names), identity.data) as Identity };
        const { state, diagnostics } = server.import(typeName, by);
        if (state === null) return failed(diagnostics);
        const found = { typeName, state: asDynamic(type, state), privateData: empty };
        return wire.ImportReply.encode({
          imported: [{ ...found, identity: asIdentity(server.identityOf(typeName, state)) }],
          diagnostics: wireDiagnostics(diagnostics),
        });
      }, failed);
    },
  };
}

function identityCalls<C>(server: ProviderServer<C>): Calls<'UpgradeResourceIdentity'> {
  return {
    UpgradeResourceIdentity(bytes) {
      const { typeName, raw } = wire.UpgradeRequest.decode(bytes);
      const stored = JSON.parse(Buffer.from(raw?.json ?? empty).toString('utf8')) as Identity;
      const names = identityNames(server.resource(typeName));
      const identity = Object.fromEntries(names.map((name) => [name, stored[name] ?? null]));
      return wire.UpgradeIdentityReply.encode({ identity: asIdentity(identity) });
    },
  };
}

type OtherCall =
  | 'ValidateProviderConfig'
  | 'ConfigureProvider'
  | 'ValidateResourceConfig'
  | 'ValidateDataResourceConfig'
  | 'ReadDataSource'
  | 'CallFunction'
  | 'StopProvider';

function otherCalls<C>(server: ProviderServer<C>, types: TypeTable<C>): Calls<OtherCall> {
  const { provider } = server;
  const diagnosticsReply = problemsAs(wire.DiagnosticsReply);
  const providerReply = problemsAs(wire.ValidateProviderReply);
  return {
    ValidateProviderConfig(bytes) {
      const { config } = wire.ConfigRequest.decode(bytes);
      const values = () => objectOf(decodeValue(types.of(provider.attributes), config)) ?? {};
      // Terraform never stores the configuration of the provider.
      return caught(() => providerReply(server.validateProvider(values(), { writeOnlyAllowed: true })), providerReply);
    },
    async ConfigureProvider(bytes) {
      const { config } = wire.ConfigureRequest.decode(bytes);
      return caughtLater(async () => {
        const values = objectOf(decodeValue(types.of(provider.attributes), config)) ?? {};
        return diagnosticsReply(await server.configure(values));
      }, diagnosticsReply);
    },
    ValidateResourceConfig(bytes) {
      const { typeName, config, clientCapabilities } = wire.TypedConfigRequest.decode(bytes);
      return caught(() => {
        const values = objectOf(decodeValue(types.resource(typeName), config)) ?? {};
        const writeOnlyAllowed = clientCapabilities?.writeOnly === true;
        return diagnosticsReply(server.validateResource(typeName, values, { writeOnlyAllowed }));
      }, diagnosticsReply);
    },
    ValidateDataResourceConfig(bytes) {
      const { typeName, config } = wire.TypedConfigRequest.decode(bytes);
      return caught(() => {
        const values = objectOf(decodeValue(types.dataSource(typeName), config)) ?? {};
        return diagnosticsReply(server.validateDataSource(typeName, values, { writeOnlyAllowed: false }));
      }, diagnosticsReply);
    },
    async ReadDataSource(bytes) {
      const { typeName, config } = wire.ReadDataRequest.decode(bytes);
      const failed = problemsAs(wire.ReadDataReply);
      return caughtLater(async () => {
        const type = types.dataSource(typeName);
        const { state, diagnostics } = await server.readData(typeName, objectOf(decodeValue(type, config)) ?? {});
        if (state === null) return failed(diagnostics);
        return wire.ReadDataReply.encode({ state: asDynamic(type, state), diagnostics: wireDiagnostics(diagnostics) });
      }, failed);
    },
    CallFunction(bytes) {
      const { name, values } = wire.CallRequest.decode(bytes);
      const failed = (text: string, argument?: number) => wire.CallReply.encode({ failure: { text, argument } });
      try {
        const called = server.function(name);
        const given = called.parameters.map(({ type }, index) => decodeValue(type, values[index]));
        return wire.CallReply.encode({ result: asDynamic(called.returns, called.call(given)) });
      } catch (error) {
        if (error instanceof FunctionError) return failed(error.message, error.parameter);
        if (error instanceof DiagnosticError || error instanceof ValueError) return failed(error.message);
        throw error;
      }
    },
    StopProvider() {
      server.stop();
      return wire.StopReply.encode({});
    },
  };
}
