// The response envelopes of the svc dialect (spec 2.1); every JSON response is one of them.
import { Type, type Static } from 'typebox';
import { Operation } from './operation.ts';

export const SyncEnvelope = Type.Object({
  type: Type.Literal('sync'),
  status: Type.Literal('Success'),
  status_code: Type.Literal(200),
  metadata: Type.Unknown(),
});

export const AsyncEnvelope = Type.Object({
  type: Type.Literal('async'),
  status: Type.Literal('OK'),
  status_code: Type.Literal(100),
  operation: Type.String(),
  metadata: Operation,
});

/** metadata: the spec has "more detail" without a shape. Ours: the message, the stable code, one entry per wrong field. */
export const ErrorEnvelope = Type.Object({
  type: Type.Literal('error'),
  error: Type.String(),
  error_code: Type.Integer(),
  metadata: Type.Object({
    code: Type.String(),
    message: Type.String(),
    details: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
  }),
});

export type SyncEnvelope = Static<typeof SyncEnvelope>;
export type AsyncEnvelope = Static<typeof AsyncEnvelope>;
export type ErrorEnvelope = Static<typeof ErrorEnvelope>;
