// Servers besides the one of the provider block: their attributes, by the names that resources use, and their settings. Opens no
// connection.
import { objectMap, text, type StateOf } from '../framework/attribute.ts';
import { durationCheck } from '../framework/duration.ts';
import type { Diagnostic } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import { type Planned, isMap, isUnknown, type Value } from '../framework/value.ts';
import { readSettings, settingsProblems, type ReadSettings, type SettingsConfig } from './settings.ts';

const remoteAttributes = {
  address: text({ doc: 'Address of the daemon, in the same form as that of the provider.', required: true }),
  client_certificate: text({ doc: 'Client certificate for https, as PEM.' }),
  client_certificate_file: text({ doc: 'Path of the client certificate, instead of `client_certificate`.' }),
  client_key: text({ doc: 'Key of the client certificate, as PEM.', sensitive: true }),
  client_key_file: text({ doc: 'Path of the key, instead of `client_key`.' }),
  server_certificate: text({ doc: 'The only server certificate to accept: its SHA-256 fingerprint, or PEM.' }),
  token: text({
    doc: 'Token of the OpenID Connect issuer that the server trusts, instead of a client certificate.',
    sensitive: true,
  }),
  token_file: text({
    doc: 'Path of a file with the token, instead of `token`: the token alone, or the file that `gantry login` keeps.',
  }),
  trust_password: text({
    doc: 'With this password the provider adds the client certificate to the trusted certificates when it is missing there.',
    sensitive: true,
  }),
  trust_token: text({
    doc: 'One-use token with which the provider adds the client certificate to the trusted certificates when it is missing there.',
    sensitive: true,
  }),
  request_timeout: text({
    doc: 'How long a request may take without a byte from the server. Default: `60s`.',
    check: durationCheck,
  }),
  project: text({ doc: 'Default project of the objects on this server.' }),
} as const;

/** The names that a remote may have; in import ids a colon ends the name. */
export const remoteName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export const remotesAttribute = objectMap(remoteAttributes, {
  doc: 'Other servers, by names of your choice: a resource or data source with `remote` is on the server of that name. Each has its own settings; environment variables do not apply to them.',
  check: (remotes) =>
    Object.keys(remotes)
      .filter((name) => !remoteName.test(name))
      .map((key) => ({ path: [{ key }], message: 'must consist of letters, digits, dots, hyphens and underscores' })),
});

type Remotes = Readonly<Record<string, StateOf<typeof remoteAttributes>>>;

export interface ReadRemotes {
  readonly remotes: ReadonlyMap<string, ReadSettings>;
  readonly problems: readonly Diagnostic[];
  /** True when the remotes, or their names, are known only after apply. */
  readonly isUnknown: boolean;
}

export function readRemotes(config: Planned<Remotes> | null): ReadRemotes {
  const given = config as Value;
  if (isUnknown(given)) return { remotes: new Map(), problems: [], isUnknown: true };
  const remotes = new Map<string, ReadSettings>();
  const problems: Diagnostic[] = [];
  for (const [name, remote] of Object.entries(isMap(given) ? given : {})) {
    const settings = { target: null, ...(isMap(remote) ? remote : {}) } as unknown as SettingsConfig;
    const read = readSettings(settings, {});
    remotes.set(name, read);
    for (const problem of settingsProblems(read)) {
      problems.push({ ...problem, path: [...at('remotes', { key: name }), ...(problem.path ?? [])] });
    }
  }
  return { remotes, problems, isUnknown: false };
}
