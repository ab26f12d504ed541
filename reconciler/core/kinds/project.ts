// The project kind: a namespace on servers that support projects. Its features can be changed only while the project is empty.
import { findProjectConfigKey } from '../../../server/api/project/project-config.ts';
import type { Problem } from '../../../server/api/problem.ts';
import { poolOfLimit } from '../../../server/api/project/project-limits.ts';
import { projectProblems } from '../settings/setting-effects.ts';
import type { JsonObject } from '../documents/document.ts';
import { defineKind, type Reference } from './kind.ts';
import { notesProfile } from './notes-profile.ts';
import { asText, mapOf, presentTexts, textsOf } from '../documents/json-values.ts';

export const project = defineKind('project', {
  fields: { description: 'scalar', config: 'map' },
  blanks: { description: '' },
  putFields: ['config', 'description'],
  // LXD knows the key only while the pool is there.
  references: ({ values }) =>
    Object.keys(mapOf(values['config'])).flatMap((key): readonly Reference[] => {
      const name = poolOfLimit(key);
      return name === undefined ? [] : [{ kind: 'storage_pool', name, path: `config.${key}`, severity: 'warning' }];
    }),
  // The server fills in the features that a document omits.
  isComputed: ([field, key = '']) => field === 'config' && key.startsWith('features.'),
  validate: (values) => [...projectProblems(presentTexts(values['config'])), ...emptyFeatures(mapOf(values['config']))],
  isPermanent: (name) => name === 'default',
  stuck: (name, live, changes) => {
    const features = changes.filter(
      ({ segments: [field, key = ''] }) => field === 'config' && key.startsWith('features.'),
    );
    if (features.length === 0) return undefined;
    const paths = features.map(({ path }) => path).join(', ');
    if (name === 'default')
      return {
        message: `the features of the project default cannot be changed: ${paths}`,
        remedy: 'take them out of its document',
      };
    const contents = contentsOf(live);
    if (contents.length === 0) return undefined;
    return {
      message: `the features of project/${name} can be changed only while it is empty: ${paths}; in it are ${contents.slice(0, 5).join(', ')}`,
      remedy: 'empty it first, or leave its features as they are',
    };
  },
});

/** Refuses absent features that the server gives every new project. */
const emptyFeatures = (config: JsonObject): readonly Problem[] =>
  Object.keys(config)
    .filter((key) => key.startsWith('features.') && findProjectConfigKey(key)?.default === 'true')
    .filter((key) => asText(config[key]) === '')
    .map((key) => ({
      path: `config.${key}`,
      message: `${key} has no value, so the server would set true: write false, or leave it out`,
    }));

/** URLs of the objects in it, without its default profile, which every project has. */
export const contentsOf = (live: JsonObject): readonly string[] =>
  textsOf(live['used_by']).filter((url) => !/^\/1\.0\/profiles\/default(\?|$)/.test(url));

/** The profile goes with its project. */
export const isNotesUrl = (url: string): boolean => url.split('?')[0] === `/1.0/profiles/${notesProfile}`;
