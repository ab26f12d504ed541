// The image kind: a local file, known to the server by its fingerprint. Another file is another image beside the old one.
import { scopedName } from '../scoped-name.ts';
import type { CoreKind } from './kind.ts';

export const image: CoreKind = {
  fields: { public: 'scalar', auto_update: 'scalar', properties: 'map' },
  blanks: { public: false, auto_update: false },
  putFields: ['auto_update', 'properties', 'public'],
  live: (observed, name) => observed.images.get(name),
  liveNames: (observed) => observed.images.keys(),
  apiName: ({ files, name, project }) =>
    files?.fingerprint === undefined ? name : scopedName(files.fingerprint, project),
  references: () => [],
  // Properties come with the image itself.
  isComputed: ([field]) => field === 'properties',
  effectOf: () => 'live',
  validate: () => [],
};
