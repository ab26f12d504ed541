// The certificate kind: a client that the server trusts over TLS. The server identifies it by its fingerprint, like images.
import { isTrue } from '../../../server/api/container/container-config.ts';
import { asText, textsOf } from '../documents/json-values.ts';
import { defineKind } from './kind.ts';

export const certificate = defineKind('certificate', {
  fields: { name: 'scalar', type: 'scalar', restricted: 'scalar', projects: 'list' },
  blanks: { restricted: false, projects: [] },
  unordered: ['projects'],
  putFields: ['name', 'type', 'restricted', 'projects'],
  apiName: (document) => document.fingerprint ?? document.name,
  references: (document) =>
    textsOf(document.values['projects']).map((name) => ({
      kind: 'project',
      name,
      path: 'projects',
      severity: 'error',
    })),
  effectOf: ([field]) => (field === 'type' ? 'recreate' : 'live'),
  validate: ({ restricted, projects }) =>
    textsOf(projects).length > 0 && !isTrue(asText(restricted))
      ? [{ path: 'projects', message: 'has no effect without restricted: true, so its client could use every project' }]
      : [],
});
