// The server config kind: one object that always exists. Keys that the document omits stay as they are.
import { sameText } from '../../../server/api/text/equality.ts';
import { serverConfigProblems, serverDefault } from '../settings/setting-effects.ts';
import { defineKind, type Reference } from './kind.ts';
import { asText, mapOf, presentTexts } from '../documents/json-values.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const serverConfig = defineKind('server_config', {
  fields: { config: 'map' },
  putFields: ['config'],
  live: ({ server }, name) => {
    const { config } = server;
    if (name !== 'server' || config === undefined) return undefined;
    const shown = server.isDeaf === true ? withoutAddress(config) : config;
    return { object: { name, config: shown }, ...withoutUndefined({ etag: server.etag }) };
  },
  liveNames: () => ['server'],
  references: ({ values }) =>
    ['storage.backups_volume', 'storage.images_volume'].flatMap((key): readonly Reference[] => {
      const name = asText(mapOf(values['config'])[key]);
      return name === ''
        ? []
        : [{ kind: 'storage_volume', name, project: 'default', path: `config.${key}`, severity: 'error' }];
    }),
  isComputed: ([field, key = '']) => field === 'config' && key.startsWith('volatile.'),
  // The server omits values that equal their default, in any spelling.
  fulfils: (key, live, desired) => {
    const otherwise = live === undefined ? serverDefault(key) : undefined;
    return otherwise !== undefined && sameText(key, otherwise, desired);
  },
  validate: (values) => serverConfigProblems(presentTexts(values['config'])),
  isPermanent: () => true,
});

type ServerFacts = {
  readonly config?: Readonly<Record<string, string | boolean>> | undefined;
  readonly environment?: { readonly addresses?: readonly string[] } | undefined;
};

/** True when an address is configured and the daemon could not bind it: it reports the addresses on which it listens. */
export const isDeaf = ({ config, environment }: ServerFacts): boolean =>
  (config?.['core.https_address'] ?? '') !== '' && environment?.addresses?.length === 0;

/** An address on which nothing listens counts as absent, so that a plan sets it again. */
export const withoutAddress = <T>(config: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(config).filter(([key]) => key !== 'core.https_address'));
