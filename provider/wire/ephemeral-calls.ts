// The calls of ephemeral resources: validate, open, renew, close.
import type { ProviderServer } from '../framework/server.ts';
import type { MessageOf } from '../../server/lib/shared/protobuf.ts';
import {
  asDynamic,
  caught,
  caughtLater,
  objectOf,
  problemsAs,
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
  const reply = problemsAs(wire.DiagnosticsReply);
  return {
    ValidateEphemeralResourceConfig(bytes) {
      const { typeName, config } = wire.TypedConfigRequest.decode(bytes);
      return caught(() => reply(server.ephemeral(typeName).validate(read(typeName, config))), reply);
    },
    OpenEphemeralResource(bytes) {
      const { typeName, config } = wire.OpenRequest.decode(bytes);
      const failed = problemsAs(wire.OpenReply);
      return caughtLater(async () => {
        const opened = await server.ephemeral(typeName).open(read(typeName, config));
        if (opened.result === null) return failed(opened.diagnostics);
        return wire.OpenReply.encode({
          result: asDynamic(types.ephemeral(typeName), opened.result),
          privateData: writePrivate(opened.privateData),
          renewAt: asTimestamp(opened.renewAt),
          diagnostics: wireDiagnostics(opened.diagnostics),
        });
      }, failed);
    },
    RenewEphemeralResource(bytes) {
      const request = wire.RenewRequest.decode(bytes);
      return caughtLater(
        async () => {
          const renewed = await server.ephemeral(request.typeName).renew(readPrivate(request.privateData));
          return wire.RenewReply.encode({
            privateData: writePrivate(renewed.privateData),
            renewAt: asTimestamp(renewed.renewAt),
            diagnostics: wireDiagnostics(renewed.diagnostics),
          });
        },
        problemsAs(wire.RenewReply, { privateData: request.privateData }),
      );
    },
    CloseEphemeralResource(bytes) {
      const { typeName, privateData } = wire.RenewRequest.decode(bytes);
      return caughtLater(async () => reply(await server.ephemeral(typeName).close(readPrivate(privateData))), reply);
    },
  };
}

/** A time as the protocol writes it. */
function asTimestamp(time: Date | undefined): MessageOf<typeof wire.RenewReply>['renewAt'] {
  if (time === undefined) return undefined;
  const seconds = Math.floor(time.getTime() / 1000);
  return { seconds, nanoseconds: (time.getTime() - seconds * 1000) * 1_000_000 };
}
