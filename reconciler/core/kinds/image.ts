// The image kind: a local file, or what another server has; known to the server by its fingerprint. Another file or source is another
// image beside the old one.
import { sourceProblems } from './image-source.ts';
import { scopedName } from '../text/scoped-name.ts';
import type { CoreKind } from './kind.ts';

export const image: CoreKind = {
  fields: { public: 'scalar', auto_update: 'scalar', properties: 'map' },
  blanks: { public: false, auto_update: false },
  putFields: ['auto_update', 'properties', 'public'],
  live: (observed, name) => observed.images.get(name),
  liveNames: (observed) => observed.images.keys(),
  apiName: (document) => {
    const fingerprint = document.files?.fingerprint ?? document.fingerprint;
    return fingerprint === undefined ? document.name : scopedName(fingerprint, document.project);
  },
  references: () => [],
  // Properties come with the image itself.
  isComputed: ([field]) => field === 'properties',
  wholeFields: ['properties'],
  effectOf: () => 'live',
  validate: (values) => (values['source'] === undefined ? [] : sourceProblems(values)),
};
