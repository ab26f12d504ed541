// The certificate kind: who may speak to the server over TLS. Known to the server by its fingerprint, like images.
import type { CoreKind } from './kind.ts';

export const certificate: CoreKind = {
  fields: { name: 'scalar', type: 'scalar' },
  putFields: ['name', 'type'],
  live: (observed, name) => observed.certificates.get(name),
  liveNames: (observed) => observed.certificates.keys(),
  apiName: (document) => document.fingerprint ?? document.name,
  references: () => [],
  isComputed: () => false,
  effectOf: ([field]) => (field === 'type' ? 'recreate' : 'live'),
  validate: () => [],
};
