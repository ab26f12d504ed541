// Recovery of records from the pools, on the wire: the request, and the findings.
import { Type, type Static } from 'typebox';
import { ConfigMap } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

export const RecoveryPost = Type.Object({
  apply: Type.Optional(Type.Boolean(facts({ doc: 'Write the records; default: only look.' }))),
  pools: Type.Optional(
    Type.Array(
      Type.Object({ name: Type.String(), driver: Type.String(), config: Type.Optional(ConfigMap) }),
      facts({ doc: 'Pools that nothing on this host knows any more, each with its source.' }),
    ),
  ),
});
export type RecoveryPost = Static<typeof RecoveryPost>;

const record = { kind: Type.String(), name: Type.String() };

export const Recovery = Type.Object({
  applied: Type.Boolean(),
  recovered: Type.Array(Type.Object(record), facts({ doc: 'Records that come back, or came back.' })),
  kept: Type.Array(Type.Object({ ...record, reason: Type.String() }), facts({ doc: 'Copies that stay unused.' })),
  unknown: Type.Array(
    Type.Object({
      pool: Type.String(),
      type: Type.String(),
      name: Type.String(),
      snapshots: Type.Array(Type.String()),
      is_known: Type.Boolean(facts({ doc: 'Only the snapshots are unknown.' })),
    }),
    facts({ doc: 'Volumes without a record or copy. They are left alone.' }),
  ),
  problems: Type.Array(Type.String()),
});
export type Recovery = Static<typeof Recovery>;
