// The server config as a document: one object called `server`; only its config is on the wire.
import { Type, type Static } from 'typebox';
import { facts } from '../schema/field.ts';

export const ServerDocument = Type.Object({
  name: Type.String(facts({ computed: true })),
  config: Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]), facts({ effect: 'live' })),
});
export type ServerDocument = Static<typeof ServerDocument>;

export const ServerDocumentPut = Type.Object({ config: Type.Record(Type.String(), Type.String()) });
export type ServerDocumentPut = Static<typeof ServerDocumentPut>;
