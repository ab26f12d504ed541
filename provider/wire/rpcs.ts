// The calls of Terraform: reads each message, passes values to the framework, writes the answer. Decides nothing.
import type { MessageOf } from '../../server/lib/shared/protobuf.ts';
import { DiagnosticError } from '../framework/diagnostic.ts';
import { FunctionError, listable, type AnyResource } from '../framework/provider.ts';
import type { Identity } from '../framework/results.ts';
import type { ProviderServer } from '../framework/server.ts';
import {
  answering,
  answeringWith,
  asDynamic,
  asIdentity,
  identityType,
  jsonOf,
  objectOf,
  problems,
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
  const asRead = (request: MessageOf<typeof wire.ReadRequest>) => request;
  const unplanned = ({ prior }: MessageOf<typeof wire.PlanRequest>) => ({ planned: prior });
  const unapplied = ({ prior }: MessageOf<typeof wire.ApplyRequest>) => ({ state: prior });
  return {
    UpgradeResourceState: answering(wire.UpgradeRequest, wire.UpgradeReply, ({ typeName, version, raw }) => {
      const { state, diagnostics } = server.upgrade(typeName, { version, json: jsonOf(raw) });
      return diagnostics.length > 0 ? problems(diagnostics) : { state: asDynamic(types.resource(typeName), state) };
    }),
    ReadResource: answeringWith(wire.ReadRequest, wire.ReadReply, asRead, async (request) => {
      const type = types.resource(request.typeName);
      const state = objectOf(decodeValue(type, request.state)) ?? {};
      const read = await server.read(request.typeName, state, readPrivate(request.privateData));
      return {
        state: asDynamic(type, read.state),
        privateData: writePrivate(read.privateData),
        diagnostics: wireDiagnostics(read.diagnostics),
        identity: asIdentity(server.identityOf(request.typeName, read.state)),
      };
    }),
    PlanResourceChange: answeringWith(wire.PlanRequest, wire.PlanReply, unplanned, async (request) => {
      const type = types.resource(request.typeName);
      const prior = objectOf(decodeValue(type, request.prior));
      const config = objectOf(decodeValue(type, request.config));
      const plan = await server.plan(request.typeName, config, prior, readPrivate(request.privateData));
      return {
        planned: asDynamic(type, plan.planned),
        replace: plan.replace.map(wirePath),
        privateData: request.privateData,
        diagnostics: wireDiagnostics(plan.diagnostics),
        identity: request.identity ?? asIdentity(server.identityOf(request.typeName, plan.planned)),
      };
    }),
    ApplyResourceChange: answeringWith(wire.ApplyRequest, wire.ApplyReply, unapplied, async (request) => {
      const type = types.resource(request.typeName);
      const applied = await server.apply(request.typeName, {
        prior: objectOf(decodeValue(type, request.prior)),
        planned: objectOf(decodeValue(type, request.planned)),
        config: objectOf(decodeValue(type, request.config)),
        privateData: readPrivate(request.privateData),
      });
      return {
        state: asDynamic(type, applied.state),
        privateData: writePrivate(applied.privateData),
        diagnostics: wireDiagnostics(applied.diagnostics),
        identity: asIdentity(server.identityOf(request.typeName, applied.state)),
      };
    }),
    MoveResourceState: answering(wire.MoveRequest, wire.MoveReply, ({ raw, ...source }) => {
      const { state, privateData } = server.move({ ...source, json: jsonOf(raw) });
      return { state: asDynamic(types.resource(source.target), state), privateData: writePrivate(privateData) };
    }),
    ImportResourceState: answering(wire.ImportRequest, wire.ImportReply, ({ typeName, id, identity }) => {
      const type = types.resource(typeName);
      const names = identityNames(server.resource(typeName));
      const by =
        identity?.data === undefined
          ? { id }
          : { identity: decodeValue(identityType(names), identity.data) as Identity };
      const { state, privateData, diagnostics } = server.import(typeName, by);
      if (state === null) return problems(diagnostics);
      const found = { typeName, state: asDynamic(type, state), privateData: writePrivate(privateData) };
      return {
        imported: [{ ...found, identity: asIdentity(server.identityOf(typeName, state)) }],
        diagnostics: wireDiagnostics(diagnostics),
      };
    }),
  };
}

const identityCalls = <C>(server: ProviderServer<C>): Calls<'UpgradeResourceIdentity'> => ({
  UpgradeResourceIdentity: answering(wire.UpgradeRequest, wire.UpgradeIdentityReply, ({ typeName, raw }) => {
    const stored = JSON.parse(jsonOf(raw)) as Identity;
    const names = identityNames(server.resource(typeName));
    return { identity: asIdentity(Object.fromEntries(names.map((name) => [name, stored[name] ?? null]))) };
  }),
});

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
  const ownValues = (config: Parameters<typeof decodeValue>[1]) =>
    objectOf(decodeValue(types.of(provider.attributes), config)) ?? {};
  return {
    ValidateProviderConfig: answering(wire.ConfigRequest, wire.ValidateProviderReply, ({ config }) =>
      // Terraform never stores the configuration of the provider.
      problems(server.validateProvider(ownValues(config), { writeOnlyAllowed: true })),
    ),
    ConfigureProvider: answering(wire.ConfigureRequest, wire.DiagnosticsReply, async ({ config }) =>
      problems(await server.configure(ownValues(config))),
    ),
    ValidateResourceConfig: answering(wire.TypedConfigRequest, wire.DiagnosticsReply, (request) => {
      const { typeName, config, clientCapabilities } = request;
      const values = objectOf(decodeValue(types.resource(typeName), config)) ?? {};
      const writeOnlyAllowed = clientCapabilities?.writeOnly === true;
      return problems(server.validateResource(typeName, values, { writeOnlyAllowed }));
    }),
    ValidateDataResourceConfig: answering(wire.TypedConfigRequest, wire.DiagnosticsReply, ({ typeName, config }) => {
      const values = objectOf(decodeValue(types.dataSource(typeName), config)) ?? {};
      return problems(server.validateDataSource(typeName, values, { writeOnlyAllowed: false }));
    }),
    ReadDataSource: answering(wire.ReadDataRequest, wire.ReadDataReply, async ({ typeName, config }) => {
      const type = types.dataSource(typeName);
      const { state, diagnostics } = await server.readData(typeName, objectOf(decodeValue(type, config)) ?? {});
      if (state === null) return problems(diagnostics);
      return { state: asDynamic(type, state), diagnostics: wireDiagnostics(diagnostics) };
    }),
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
