// The calls of actions (protocol 6.10): checks of a configuration, the plan, and the stream of a run.
import type { Diagnostic } from '../framework/diagnostic.ts';
import type { ProviderServer } from '../framework/server.ts';
import { asDiagnostics, caught, caughtLater, objectOf, problemsAs, type TypeTable } from './answers.ts';
import type { Stream, Unary } from './grpc.ts';
import * as wire from './messages.ts';
import { wireDiagnostics } from './schema.ts';
import { decodeValue } from './values.ts';

export interface ActionCalls {
  readonly ValidateActionConfig: Unary;
  readonly PlanAction: Unary;
  readonly InvokeAction: Stream;
}

export function actionCalls<C>(server: ProviderServer<C>, types: TypeTable<C>): ActionCalls {
  const read = (bytes: Uint8Array) => {
    const { typeName, config } = wire.ActionRequest.decode(bytes);
    return { typeName, values: objectOf(decodeValue(types.of(server.action(typeName).attributes), config)) ?? {} };
  };
  const reply = problemsAs(wire.DiagnosticsReply);
  const ended = (found: readonly Diagnostic[]) =>
    wire.ActionEvent.encode({ completed: { diagnostics: wireDiagnostics(found) } });
  return {
    ValidateActionConfig: (bytes) =>
      caught(() => {
        const { typeName, values } = read(bytes);
        return reply(server.validateAction(typeName, values));
      }, reply),
    PlanAction: (bytes) =>
      caughtLater(async () => {
        const { typeName, values } = read(bytes);
        return reply(await server.planAction(typeName, values));
      }, reply),
    async InvokeAction(bytes, send) {
      // Sends the lines in order, then the end.
      let sent = Promise.resolve();
      const sendProgress = (line: string): void => {
        sent = sent.then(() => send(wire.ActionEvent.encode({ progress: { line } })));
        sent.catch(() => undefined);
      };
      let found: readonly Diagnostic[];
      try {
        const { typeName, values } = read(bytes);
        found = await server.invokeAction(typeName, values, sendProgress);
      } catch (error) {
        found = asDiagnostics(error);
      }
      await sent;
      await send(ended(found));
    },
  };
}
