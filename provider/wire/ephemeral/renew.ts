// RenewEphemeralResource: extends the life of an open resource.
import type { Diagnostic } from '../../framework/diagnostic.ts';
import type { ProviderServer } from '../../framework/server.ts';
import { caughtLater, readPrivate, writePrivate } from '../answers.ts';
import type { Unary } from '../grpc.ts';
import * as wire from '../messages.ts';
import { wireDiagnostics } from '../schema.ts';
import { asTimestamp } from './timestamp.ts';

export const renewCall =
  <C>(server: ProviderServer<C>): Unary =>
  (bytes) => {
    const request = wire.RenewRequest.decode(bytes);
    const failed = (found: readonly Diagnostic[]) =>
      wire.RenewReply.encode({ privateData: request.privateData, diagnostics: wireDiagnostics(found) });
    return caughtLater(async () => {
      const opened = server.ephemeral(request.typeName);
      const { privateData, renewAt, diagnostics } = await opened.renew(readPrivate(request.privateData));
      return wire.RenewReply.encode({
        privateData: writePrivate(privateData),
        renewAt: asTimestamp(renewAt),
        diagnostics: wireDiagnostics(diagnostics),
      });
    }, failed);
  };
