// The image alias kind: moving one to another image changes what new containers get, never existing ones.
import type { CoreKind } from './kind.ts';
import { textOf } from '../documents/json-values.ts';

export const imageAlias: CoreKind = {
  fields: { description: 'scalar', target: 'scalar' },
  blanks: { description: '' },
  putFields: ['description', 'target'],
  live: (observed, name) => observed.aliases.get(name),
  liveNames: (observed) => observed.aliases.keys(),
  apiName: (document) => document.name,
  references: (document) => {
    const target = textOf(document.values['target']);
    return target === undefined ? [] : [{ kind: 'image', name: target, path: 'target', severity: 'error' }];
  },
  isComputed: () => false,
  // A unique prefix names the image as well as the whole fingerprint.
  fulfils: (key, live, desired) =>
    key === 'target' && /^[0-9a-f]{12,}$/.test(desired) && (live ?? '').startsWith(desired),
  effectOf: () => 'live',
  validate: () => [],
};
