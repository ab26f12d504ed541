// Background operations on the wire (spec 2.2).
import { Type, type Static } from 'typebox';
import { Timestamp } from './schema/common-schemas.ts';
import { facts } from './schema/field.ts';

export const OperationClass = Type.Union([Type.Literal('task'), Type.Literal('websocket'), Type.Literal('token')]);

export const Operation = Type.Object({
  id: Type.String(facts({ doc: 'UUID.' })),
  class: OperationClass,
  description: Type.String(facts({ doc: 'Action of the operation.', since: 'operation_description' })),
  created_at: Timestamp,
  updated_at: Timestamp,
  status: Type.String(facts({ doc: 'Text form of status_code.' })),
  status_code: Type.Integer(facts({ doc: 'The one to rely on; 200 and above are final.' })),
  resources: Type.Union([Type.Record(Type.String(), Type.Array(Type.String())), Type.Null()]),
  metadata: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  may_cancel: Type.Boolean(),
  err: Type.String(facts({ doc: 'Why it failed; empty otherwise.' })),
  location: Type.Optional(Type.String(facts({ doc: 'Cluster member; none when not clustered.' }))),
});
export type Operation = Static<typeof Operation>;
export type OperationClass = Static<typeof OperationClass>;
