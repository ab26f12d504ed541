// gantry_server_config: manages named config keys of the server. Other keys stay as they are.
import type { Server } from '../../server/api/server/server.ts';
import { serverConfigKeys, type ServerConfigKey } from '../../server/api/server/server-config.ts';
import { validateServerConfig } from '../../server/api/server/validate-server-config.ts';
import { lxdServerDefault, withoutKeysOfLxd } from '../../server/api/server/lxd-keys.ts';
import { sameText } from '../../server/api/text/equality.ts';
import type { Link } from '../connection/link.ts';
import { integer, text, textMap, type StateOf, type TextMap } from '../framework/attribute.ts';
import type { ConfigOf, Context } from '../framework/object-type.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import { wrongValue } from '../framework/validate.ts';
import { serverResource } from './shared/common-attributes.ts';
import { editPath } from './shared/read-by-path.ts';
import { performFirst } from './shared/write.ts';

const isHidden = (key: string): boolean =>
  (serverConfigKeys as Readonly<Record<string, ServerConfigKey>>)[key]?.hidden ?? false;
const defaultOf = (key: string): string =>
  (serverConfigKeys as Readonly<Record<string, ServerConfigKey>>)[key]?.default ?? lxdServerDefault(key) ?? '';

const problemsIn = (config: TextMap) => [
  ...withoutKeysOfLxd('server_config', validateServerConfig(config)).map(({ path, message }) => ({
    path: [{ key: path.slice('config.'.length) }],
    message,
  })),
  ...Object.keys(config)
    .filter(isHidden)
    .map((key) => ({ path: [{ key }], message: 'is never returned by the server: set it with trust_password' })),
];

const attributes = {
  name: text({ doc: 'Always `server`.', computed: true, keep: true }),
  config: textMap({
    doc: 'The keys to set. Only these keys are read and written. Removing a key here, or the resource, unsets it on the server.',
    required: true,
    check: problemsIn,
    same: (before: TextMap, after: TextMap) =>
      Object.keys(before).length === Object.keys(after).length &&
      Object.keys(before).every((key) => after[key] !== undefined && sameText(key, before[key] ?? '', after[key])),
  }),
  trust_password: text({
    doc: 'Password with which clients may add their certificate (`core.trust_password`). It is never stored: raise `trust_password_version` to send a new one.',
    sensitive: true,
    writeOnly: true,
  }),
  trust_password_version: integer({ doc: 'Any number; a change sends `trust_password` again.' }),
};
type State = StateOf<typeof attributes>;

const passwordKey = 'core.trust_password';

export const serverConfig = serverResource({
  typeName: 'gantry_server_config',
  doc: 'Config keys of the server itself. Only the named keys change, and destroy unsets them.',
  attributes,
  identity: ['name'],
  importing: {
    doc: 'the names of the keys, separated by commas; `server` has none, and the next apply sets those of the configuration',
    example: 'core.https_address,images.auto_update_interval',
    // The id has only names; the framework reads the values right after the import.
    parse(id) {
      const config = Object.fromEntries((id === 'server' ? [] : id.split(',')).map((key) => [key.trim(), '']));
      const found = problemsIn(config).map(({ path, message }) => wrongValue([...at('config'), ...path], message));
      if (found.length > 0) throw new DiagnosticError(found);
      return { name: 'server', config };
    },
  },
  validate({ trust_password: password, trust_password_version: version }) {
    if (version === null || password !== null) return [];
    return [
      failure(
        'trust_password is missing',
        'trust_password_version needs trust_password.',
        at('trust_password_version'),
      ),
    ];
  },
  plan({ planned }) {
    planned.name = 'server';
  },
  async read(state, { client, signal }) {
    const { config } = (await client.client.server(signal)).metadata;
    return { name: 'server', config: readKeys(config, state.config) };
  },
  async create({ planned, config }, context) {
    await performFirst(context, () => write(context, planned, null, config));
  },
  async update({ planned, config }, prior, context) {
    await write(context, planned, prior, config);
  },
  async delete(prior, context) {
    const keys = [...Object.keys(prior.config), ...(prior.trust_password_version === null ? [] : [passwordKey])];
    await change(context, Object.fromEntries(keys.map((key) => [key, ''])), null);
  },
});

/** An unset key holds its default. */
function readKeys(live: Server['config'], before: TextMap): TextMap {
  return Object.fromEntries(
    Object.entries(before).map(([key, written]) => {
      const value = live[key];
      const now = value === undefined ? defaultOf(key) : String(value);
      const isUnset = written === '' && now === defaultOf(key);
      return [key, isUnset || sameText(key, now, written) ? written : now];
    }),
  );
}

type Config = ConfigOf<typeof attributes>;

async function write(context: Context<Link>, planned: State, prior: State | null, given: Config): Promise<void> {
  const dropped = Object.keys(prior?.config ?? {}).filter((key) => !(key in planned.config));
  const password = given.trust_password;
  const isNewPassword =
    typeof password === 'string' && planned.trust_password_version !== (prior?.trust_password_version ?? undefined);
  const unsetsPassword = prior !== null && prior.trust_password_version !== null && password === null;
  const values = {
    ...planned.config,
    ...Object.fromEntries(dropped.map((key) => [key, ''])),
    ...(isNewPassword ? { [passwordKey]: password } : unsetsPassword ? { [passwordKey]: '' } : {}),
  };
  await change(context, values, prior);
}

/** The keys whose live value is neither that of the plan's refresh nor the planned one. */
const changedKeys = (live: Server['config'], before: TextMap, values: TextMap): readonly string[] =>
  Object.entries(before).flatMap(([key, value]) => {
    const [was, wanted] = [readKeys(live, { [key]: value })[key], values[key] ?? ''];
    return was === value || readKeys(live, { [key]: wanted })[key] === wanted ? [] : [`config[${JSON.stringify(key)}]`];
  });

/** Sends all other keys back unchanged; `true` keeps a hidden value. `prior`: the state whose values nobody else may have changed. */
async function change(context: Context<Link>, values: TextMap, prior: State | null): Promise<void> {
  await editPath<Server, object>(context, 'server config', '/1.0', {
    changedSince: ({ config }) => changedKeys(config, prior?.config ?? {}, values),
    body: (live) => {
      const merged = { ...live.config, ...values };
      return { config: Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== '')) };
    },
  });
}
