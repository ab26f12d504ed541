// The HTTP contract of the controller: every answer and request body as a schema and a type. The engine produces these objects, the
// page shows them. endpoints.ts has their paths. Pure data.
import { Type, type TSchema } from 'typebox';
import { says, Text, type Shape } from './shape.ts';
import { DriftRecord, HostStatus, ObjectSummary, SetStatus, SourceStatus } from './status.ts';
import { LogLine, Operation } from './runs.ts';

export * from './status.ts';
export * from './runs.ts';
export * from './requests.ts';
export * from './containers.ts';
export * from './everywhere.ts';

const event = <const Name extends string, P extends Record<string, TSchema>>(type: Name, payload: P) =>
  Type.Object({ type: Type.Literal(type), ...payload });
/** The `data` of a message of GET /api/v1/events. A client sends its `id` as `Last-Event-ID` to get missed events. */
export const ControllerEvent = Type.Union([
  event('set', { set: SetStatus }),
  event('object', { set: Text, object: ObjectSummary, isGone: Type.Optional(Type.Boolean()) }),
  event('drift', { set: Text, drift: DriftRecord }),
  event('run', { operation: Operation }),
  event('source', { source: SourceStatus }),
  event('host', { host: HostStatus }),
  event('log', { line: LogLine }),
  event('reset', { reason: says('Events were lost: read everything again.') }),
]);
export type ControllerEvent = Shape<typeof ControllerEvent>;
