// The calls of actions (protocol 6.10): checks of a configuration, the plan, and the stream of a run.
import type { Diagnostic } from '../framework/diagnostic.ts';
import type { ProviderServer } from '../framework/server.ts';
import type { MessageOf } from '../../server/lib/shared/protobuf.ts';
import { answering, asDiagnostics, objectOf, problems, type TypeTable } from './answers.ts';
import type { Stream, Unary } from './grpc.ts';
import * as wire from './messages.ts';
import { decodeValue } from './values.ts';

export interface ActionCalls {
  readonly ValidateActionConfig: Unary;
  readonly PlanAction: Unary;
  readonly InvokeAction: Stream;
}

export function actionCalls<C>(server: ProviderServer<C>, types: TypeTable<C>): ActionCalls {
  type Asked = MessageOf<typeof wire.ActionRequest>;
  const valuesOf = ({ typeName, config }: Asked) =>
    objectOf(decodeValue(types.of(server.action(typeName).attributes), config)) ?? {};
  return {
    ValidateActionConfig: answering(wire.ActionRequest, wire.DiagnosticsReply, (asked) =>
      problems(server.validateAction(asked.typeName, valuesOf(asked))),
    ),
    PlanAction: answering(wire.ActionRequest, wire.DiagnosticsReply, async (asked) =>
      problems(await server.planAction(asked.typeName, valuesOf(asked))),
    ),
    async InvokeAction(bytes, send) {
      // Sends the lines in order, then the end.
      let sent = Promise.resolve();
      const sendProgress = (line: string): void => {
        sent = sent.then(() => send(wire.ActionEvent.encode({ progress: { line } })));
        sent.catch(() => undefined);
      };
      let found: readonly Diagnostic[];
      try {
        const asked = wire.ActionRequest.decode(bytes);
        found = await server.invokeAction(asked.typeName, valuesOf(asked), sendProgress);
      } catch (error) {
        found = asDiagnostics(error);
      }
      await sent;
      await send(wire.ActionEvent.encode({ completed: problems(found) }));
    },
  };
}
