// Warnings on the wire: states of the server that an administrator should know (shapes after the real system).
import { Type, type Static } from 'typebox';
import { facts } from '../schema/field.ts';
import { Timestamp } from '../schema/common-schemas.ts';

export const Warning = Type.Object({
  uuid: Type.String(facts({ computed: true })),
  location: Type.String(facts({ computed: true, doc: 'The member that saw it; none outside a cluster.' })),
  project: Type.String(facts({ computed: true, doc: 'Of the object; empty when it belongs to none.' })),
  type: Type.String(facts({ computed: true })),
  count: Type.Integer(facts({ computed: true, doc: 'How often it was seen.' })),
  first_seen_at: Timestamp,
  last_seen_at: Timestamp,
  last_message: Type.String(facts({ computed: true })),
  severity: Type.String(facts({ computed: true, doc: 'low, moderate or high.' })),
  status: Type.String(facts({ effect: 'live', doc: 'new, acknowledged, or resolved when its cause is over.' })),
  entity_url: Type.String(facts({ computed: true, doc: 'The object that it is about; empty for the server.' })),
});
export type Warning = Static<typeof Warning>;

/** `status`: new or acknowledged. */
export const WarningPut = Type.Object({ status: Type.String() });
export type WarningPut = Static<typeof WarningPut>;

export const warningUrl = (uuid: string): string => `/1.0/warnings/${encodeURIComponent(uuid)}`;
