// The calls of `terraform query` (protocol 6.10): checks of a list block, and the stream of the objects found.
import type { Diagnostic } from '../framework/diagnostic.ts';
import type { ProviderServer } from '../framework/server.ts';
import { answering, asDiagnostics, asDynamic, asIdentity, objectOf, problems, type TypeTable } from './answers.ts';
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
  return {
    ValidateListResourceConfig: answering(wire.TypedConfigRequest, wire.DiagnosticsReply, ({ typeName, config }) =>
      problems(server.validateListing(typeName, configOf(typeName, config))),
    ),
    async ListResource(bytes, send) {
      const { typeName, config, includesObject, limit } = wire.ListRequest.decode(bytes);
      const sendProblems = (found: readonly Diagnostic[]) => send(wire.ListEvent.encode(problems(found)));
      try {
        const request = { config: configOf(typeName, config), includesState: includesObject, limit };
        for await (const { title, state, diagnostics } of server.list(typeName, request)) {
          if (state === null) await sendProblems(diagnostics);
          else {
            const identity = asIdentity(server.identityOf(typeName, state));
            const object = includesObject ? asDynamic(types.resource(typeName), state) : undefined;
            await send(wire.ListEvent.encode({ identity, title, object, diagnostics: wireDiagnostics(diagnostics) }));
          }
        }
      } catch (error) {
        await sendProblems(asDiagnostics(error));
      }
    },
  };
}
