// ValidateEphemeralResourceConfig: reads and validates the configuration.
import type { Diagnostic } from '../../framework/diagnostic.ts';
import type { ProviderServer } from '../../framework/server.ts';
import { caught, objectOf, type TypeTable } from '../answers.ts';
import type { Unary } from '../grpc.ts';
import * as wire from '../messages.ts';
import { wireDiagnostics } from '../schema.ts';
import { decodeValue } from '../values.ts';

export const validateCall =
  <C>(server: ProviderServer<C>, types: TypeTable<C>): Unary =>
  (bytes) => {
    const { typeName, config } = wire.TypedConfigRequest.decode(bytes);
    const reply = (found: readonly Diagnostic[]) =>
      wire.DiagnosticsReply.encode({ diagnostics: wireDiagnostics(found) });
    return caught(() => {
      const values = objectOf(decodeValue(types.ephemeral(typeName), config)) ?? {};
      return reply(server.ephemeral(typeName).validate(values));
    }, reply);
  };
