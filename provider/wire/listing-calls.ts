// The calls of `terraform query` (protocol 6.10): checks of a list block, and the stream of the objects found.
import type { ProviderServer } from '../framework/server.ts';
import { asDiagnostics, asDynamic, asIdentity, caught, objectOf, problemsAs, type TypeTable } from './answers.ts';
import type { Stream, Unary } from './grpc.ts';
import * as wire from './messages.ts';
import { wireDiagnostics } from './schema.ts';
import { decodeValue } from './values.ts';

export interface ListingCalls {
  readonly ValidateListResourceConfig: Unary;
  readonly ListResource: Stream;
}

export function listingCalls<C>(server: ProviderServer<C>, types: TypeTable<C>): ListingCalls {
  const configOf = (typeName: string, config: Parameters<typeof decodeValue>[1]) =>
    objectOf(decodeValue(types.of(server.listing(typeName).attributes), config)) ?? {};
  const reply = problemsAs(wire.DiagnosticsReply);
  return {
    ValidateListResourceConfig(bytes) {
      const { typeName, config } = wire.TypedConfigRequest.decode(bytes);
      return caught(() => reply(server.validateListing(typeName, configOf(typeName, config))), reply);
    },
    async ListResource(bytes, send) {
      const { typeName, config, includesObject, limit } = wire.ListRequest.decode(bytes);
      const problems = problemsAs(wire.ListEvent);
      try {
        const request = { config: configOf(typeName, config), includesState: includesObject, limit };
        for await (const { title, state, diagnostics } of server.list(typeName, request)) {
          if (state === null) await send(problems(diagnostics));
          else {
            const identity = asIdentity(server.identityOf(typeName, state));
            const object = includesObject ? asDynamic(types.resource(typeName), state) : undefined;
            await send(wire.ListEvent.encode({ identity, title, object, diagnostics: wireDiagnostics(diagnostics) }));
          }
        }
      } catch (error) {
        await send(problems(asDiagnostics(error)));
      }
    },
  };
}
