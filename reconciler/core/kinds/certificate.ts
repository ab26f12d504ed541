// The certificate kind: a client that the server trusts over TLS. The server identifies it by its fingerprint, like images.
import { defineKind } from './kind.ts';

export const certificate = defineKind('certificate', {
  fields: { name: 'scalar', type: 'scalar' },
  putFields: ['name', 'type'],
  apiName: (document) => document.fingerprint ?? document.name,
  effectOf: ([field]) => (field === 'type' ? 'recreate' : 'live'),
});
