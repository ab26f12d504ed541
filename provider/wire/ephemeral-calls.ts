// The calls of ephemeral resources: validate, open, renew, close.
import type { ProviderServer } from '../framework/server.ts';
import type { MessageOf } from '../../server/lib/shared/protobuf.ts';
import {
  answering,
  answeringWith,
  asDynamic,
  objectOf,
  problems,
  readPrivate,
  writePrivate,
  type TypeTable,
} from './answers.ts';
import type { ProviderCall } from './calls.ts';
import type { Unary } from './grpc.ts';
import * as wire from './messages.ts';
import { wireDiagnostics } from './schema.ts';
import { decodeValue } from './values.ts';

type EphemeralCall = Extract<ProviderCall, `${string}Ephemeral${string}`>;

export function ephemeralCalls<C>(
  server: ProviderServer<C>,
  types: TypeTable<C>,
): Readonly<Record<EphemeralCall, Unary>> {
  const read = (typeName: string, config: Parameters<typeof decodeValue>[1]) =>
    objectOf(decodeValue(types.ephemeral(typeName), config)) ?? {};
  const unrenewed = ({ privateData }: MessageOf<typeof wire.RenewRequest>) => ({ privateData });
  return {
    ValidateEphemeralResourceConfig: answering(wire.TypedConfigRequest, wire.DiagnosticsReply, ({ typeName, config }) =>
      problems(server.ephemeral(typeName).validate(read(typeName, config))),
    ),
    OpenEphemeralResource: answering(wire.OpenRequest, wire.OpenReply, async ({ typeName, config }) => {
      const opened = await server.ephemeral(typeName).open(read(typeName, config));
      if (opened.result === null) return problems(opened.diagnostics);
      return {
        result: asDynamic(types.ephemeral(typeName), opened.result),
        privateData: writePrivate(opened.privateData),
        renewAt: asTimestamp(opened.renewAt),
        diagnostics: wireDiagnostics(opened.diagnostics),
      };
    }),
    RenewEphemeralResource: answeringWith(wire.RenewRequest, wire.RenewReply, unrenewed, async (request) => {
      const renewed = await server.ephemeral(request.typeName).renew(readPrivate(request.privateData));
      return {
        privateData: writePrivate(renewed.privateData),
        renewAt: asTimestamp(renewed.renewAt),
        diagnostics: wireDiagnostics(renewed.diagnostics),
      };
    }),
    CloseEphemeralResource: answering(wire.RenewRequest, wire.DiagnosticsReply, async ({ typeName, privateData }) =>
      problems(await server.ephemeral(typeName).close(readPrivate(privateData))),
    ),
  };
}

/** A time as the protocol writes it. */
function asTimestamp(time: Date | undefined): MessageOf<typeof wire.RenewReply>['renewAt'] {
  if (time === undefined) return undefined;
  const seconds = Math.floor(time.getTime() / 1000);
  return { seconds, nanoseconds: (time.getTime() - seconds * 1000) * 1_000_000 };
}
