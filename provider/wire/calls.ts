// The names of Terraform's calls, and lazy methods that load the provider at the first call.
import type { Method, Methods, Stream, Unary } from './grpc.ts';

export const providerService = '/tfplugin6.Provider/';

/** The unary calls of protocol 6.10. Calls of capabilities that the schema does not claim are unimplemented. */
export const providerCalls = [
  'GetMetadata',
  'GetProviderSchema',
  'GetFunctions',
  'GetResourceIdentitySchemas',
  'ValidateProviderConfig',
  'ConfigureProvider',
  'ValidateResourceConfig',
  'ValidateDataResourceConfig',
  'UpgradeResourceState',
  'UpgradeResourceIdentity',
  'ReadResource',
  'PlanResourceChange',
  'ApplyResourceChange',
  'ImportResourceState',
  'MoveResourceState',
  'ReadDataSource',
  'CallFunction',
  'ValidateEphemeralResourceConfig',
  'OpenEphemeralResource',
  'RenewEphemeralResource',
  'CloseEphemeralResource',
  'ValidateListResourceConfig',
  'ValidateActionConfig',
  'PlanAction',
  'StopProvider',
] as const;
export type ProviderCall = (typeof providerCalls)[number];

/** The calls with a stream of answers. */
export const providerStreams = ['ListResource', 'InvokeAction'] as const;
export type ProviderStream = (typeof providerStreams)[number];

export interface ProviderCalls {
  readonly unary: Readonly<Record<ProviderCall, Unary>>;
  readonly streams: Readonly<Record<ProviderStream, Stream>>;
}

export const asMethods = ({ unary, streams }: ProviderCalls): Methods =>
  new Map<string, Method>([
    ...providerCalls.map((name): [string, Method] => [providerService + name, { kind: 'unary', call: unary[name] }]),
    ...providerStreams.map((name): [string, Method] => [
      providerService + name,
      { kind: 'stream', call: streams[name] },
    ]),
  ]);

/** The first of a plan's three processes serves only the schema: `schema` returns it without `load`, if it can. */
export function lazyMethods(load: () => Promise<Methods>, schema: () => Uint8Array | undefined): Methods {
  let loading: Promise<Methods> | undefined;
  let loaded: Methods | undefined;
  const later =
    (name: ProviderCall): Unary =>
    async (request) => {
      loaded ??= await (loading ??= load());
      return call(loaded, name, request);
    };
  const unary = providerCalls.map((name): [ProviderCall, Unary] => {
    const unloaded = later(name);
    return [name, (request) => (loaded === undefined ? unloaded(request) : call(loaded, name, request))];
  });
  const calls = Object.fromEntries(unary) as Record<ProviderCall, Unary>;
  const { GetProviderSchema: made } = calls;
  const streams = providerStreams.map((name): [ProviderStream, Stream] => [
    name,
    async (request, send) => {
      loaded ??= await (loading ??= load());
      const method = loaded.get(providerService + name);
      if (method?.kind !== 'stream') throw new Error(`the method ${name} is not implemented`);
      await method.call(request, send);
    },
  ]);
  return asMethods({
    unary: { ...calls, GetProviderSchema: (request) => schema() ?? made(request) },
    streams: Object.fromEntries(streams) as Record<ProviderStream, Stream>,
  });
}

function call(methods: Methods, name: ProviderCall, request: Uint8Array): Promise<Uint8Array> | Uint8Array {
  const method = methods.get(providerService + name);
  if (method?.kind !== 'unary') throw new Error(`the method ${name} is not implemented`);
  return method.call(request);
}
