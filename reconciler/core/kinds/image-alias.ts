// The image alias kind: moving one to another image changes what new containers get, never existing ones.
import { defineKind } from './kind.ts';
import { textOf } from '../documents/json-values.ts';

export const imageAlias = defineKind('image_alias', {
  fields: { description: 'scalar', target: 'scalar' },
  blanks: { description: '' },
  putFields: ['description', 'target'],
  references: (document) => {
    const target = textOf(document.values['target']);
    return target === undefined ? [] : [{ kind: 'image', name: target, path: 'target', severity: 'error' }];
  },
  liveReferences: ({ target }) => [{ kind: 'image', name: textOf(target) ?? '' }],
  // A unique prefix names the image as well as the whole fingerprint.
  fulfils: (key, live, desired) =>
    key === 'target' && /^[0-9a-f]{12,}$/.test(desired) && (live ?? '').startsWith(desired),
});
