// The image kind: a local file, or an image of another server, identified by its fingerprint. Another file or source makes another
// image; the old one stays.
import { sourceProblems } from './image-source.ts';
import { scopedName } from '../text/scoped-name.ts';
import { defineKind } from './kind.ts';

export const image = defineKind('image', {
  fields: { public: 'scalar', auto_update: 'scalar', properties: 'map' },
  blanks: { public: false, auto_update: false },
  putFields: ['auto_update', 'properties', 'public'],
  apiName: (document) => {
    const fingerprint = document.files?.fingerprint ?? document.fingerprint;
    return fingerprint === undefined ? document.name : scopedName(fingerprint, document.project);
  },
  // Properties come with the image itself.
  isComputed: ([field]) => field === 'properties',
  wholeFields: ['properties'],
  validate: (values) => (values['source'] === undefined ? [] : sourceProblems(values)),
});
