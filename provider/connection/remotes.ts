// The servers beside that of the provider block: their attributes, by the names that resources refer to, and their settings. Opens
// nothing.
import { objectMap, text, type StateOf } from '../framework/attribute.ts';
import type { Diagnostic } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Planned } from '../framework/value.ts';
import { isMap, isUnknown, type Value } from '../framework/value.ts';
import { readSettings, settingsProblems, type ReadSettings, type SettingsConfig } from './settings.ts';

const remoteAttributes = {
  address: text({ doc: 'Where the daemon listens, as that of the provider.', required: true }),
  client_certificate: text({ doc: 'Client certificate for https, as PEM.' }),
  client_certificate_file: text({ doc: 'Path of the client certificate, instead of `client_certificate`.' }),
  client_key: text({ doc: 'Key of the client certificate, as PEM.', sensitive: true }),
  client_key_file: text({ doc: 'Path of the key, instead of `client_key`.' }),
  server_certificate: text({ doc: 'The only server certificate to accept: its SHA-256 fingerprint, or PEM.' }),
  trust_password: text({
    doc: 'With this the client certificate is added to the trusted ones when it is not among them yet.',
    sensitive: true,
  }),
  project: text({ doc: 'Project of all objects there that do not say one.' }),
} as const;

/** What a remote may be called: also in import ids, where a colon ends it. */
export const remoteName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export const remotesAttribute = objectMap(remoteAttributes, {
  doc: 'Other servers, by names of your choice: resources and data sources are on one of them when their `remote` names it. Each has settings of its own; nothing of the environment counts for them.',
  check: (remotes) =>
    Object.keys(remotes)
      .filter((name) => !remoteName.test(name))
      .map((key) => ({ path: [{ key }], message: 'must consist of letters, digits, dots, hyphens and underscores' })),
});

type Remotes = Readonly<Record<string, StateOf<typeof remoteAttributes>>>;

export interface ReadRemotes {
  readonly remotes: ReadonlyMap<string, ReadSettings>;
  readonly problems: readonly Diagnostic[];
  /** The remotes, or their names, are known after apply only. */
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
