// OpenEphemeralResource: returns the values of the resource, the private data for closing, and the time of renewal.
import type { Diagnostic } from '../../framework/diagnostic.ts';
import type { ProviderServer } from '../../framework/server.ts';
import { asDynamic, caughtLater, objectOf, writePrivate, type TypeTable } from '../answers.ts';
import type { Unary } from '../grpc.ts';
import * as wire from '../messages.ts';
import { wireDiagnostics } from '../schema.ts';
import { decodeValue } from '../values.ts';
import { asTimestamp } from './timestamp.ts';

export const openCall =
  <C>(server: ProviderServer<C>, types: TypeTable<C>): Unary =>
  (bytes) => {
    const { typeName, config } = wire.OpenRequest.decode(bytes);
    const failed = (found: readonly Diagnostic[]) => wire.OpenReply.encode({ diagnostics: wireDiagnostics(found) });
    return caughtLater(async () => {
      const type = types.ephemeral(typeName);
      const values = objectOf(decodeValue(type, config)) ?? {};
      const { result, privateData, renewAt, diagnostics } = await server.ephemeral(typeName).open(values);
      if (result === null) return failed(diagnostics);
      return wire.OpenReply.encode({
        result: asDynamic(type, result),
        privateData: writePrivate(privateData),
        renewAt: asTimestamp(renewAt),
        diagnostics: wireDiagnostics(diagnostics),
      });
    }, failed);
  };
