// CloseEphemeralResource: Terraform no longer needs the values.
import type { Diagnostic } from '../../framework/diagnostic.ts';
import type { ProviderServer } from '../../framework/server.ts';
import { caughtLater, readPrivate } from '../answers.ts';
import type { Unary } from '../grpc.ts';
import * as wire from '../messages.ts';
import { wireDiagnostics } from '../schema.ts';

export const closeCall =
  <C>(server: ProviderServer<C>): Unary =>
  (bytes) => {
    const { typeName, privateData } = wire.RenewRequest.decode(bytes);
    const reply = (found: readonly Diagnostic[]) =>
      wire.DiagnosticsReply.encode({ diagnostics: wireDiagnostics(found) });
    return caughtLater(async () => reply(await server.ephemeral(typeName).close(readPrivate(privateData))), reply);
  };
