// The server config kind: one object that is always there. What is not written of it is nobody's business.
import { sameText } from '../../../server/api/equal.ts';
import { serverConfigProblems, serverDefault } from '../effects.ts';
import type { CoreKind } from './kind.ts';
import { presentTexts } from './values.ts';

export const serverConfig: CoreKind = {
  fields: { config: 'map' },
  putFields: ['config'],
  live: ({ server }, name) =>
    name !== 'server' || server.config === undefined
      ? undefined
      : { object: { name, config: server.config }, ...(server.etag === undefined ? {} : { etag: server.etag }) },
  liveNames: () => ['server'],
  apiName: (document) => document.name,
  references: () => [],
  isComputed: ([field, key = '']) => field === 'config' && key.startsWith('volatile.'),
  // The server shows no value that is its default, however it is spelled.
  fulfils: (key, live, desired) => {
    const otherwise = live === undefined ? serverDefault(key) : undefined;
    return otherwise !== undefined && sameText(key, otherwise, desired);
  },
  effectOf: () => 'live',
  validate: (values) => serverConfigProblems(presentTexts(values['config'])),
  isPermanent: () => true,
};
