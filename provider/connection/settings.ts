// The configuration of the provider: its attributes, their environment variables, and the source of each value. Opens no connection.
import { decodeTrustToken } from '../../server/api/server/trust-token.ts';
import { text, type StateOf } from '../framework/attribute.ts';
import { failure, type Diagnostic } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { ConfigOf } from '../framework/object-type.ts';
import { durationCheck, parseDuration } from '../framework/duration.ts';
import { isUnknown } from '../framework/value.ts';

export const settingsAttributes = {
  address: text({
    doc: 'Address of the daemon: `unix:///var/lib/gantry/unix.socket` or `https://host:8443`; of a cluster several https addresses with commas between, of which the next is used when one does not answer. Environment: `GANTRY_ADDRESS`. There is no default.',
  }),
  client_certificate: text({ doc: 'Client certificate for https, as PEM. Environment: `GANTRY_CLIENT_CERTIFICATE`.' }),
  client_certificate_file: text({
    doc: 'Path of the client certificate, instead of `client_certificate`. Environment: `GANTRY_CLIENT_CERTIFICATE_FILE`.',
  }),
  client_key: text({
    doc: 'Key of the client certificate, as PEM. Environment: `GANTRY_CLIENT_KEY`.',
    sensitive: true,
  }),
  client_key_file: text({ doc: 'Path of the key, instead of `client_key`. Environment: `GANTRY_CLIENT_KEY_FILE`.' }),
  server_certificate: text({
    doc: 'The only server certificate to accept: its SHA-256 fingerprint, or PEM. Without it the system must trust the certificate. Environment: `GANTRY_SERVER_CERTIFICATE`.',
  }),
  token: text({
    doc: 'Token of the OpenID Connect issuer that the server trusts, instead of a client certificate; https only. Environment: `GANTRY_TOKEN`.',
    sensitive: true,
  }),
  token_file: text({
    doc: 'Path of a file with the token, instead of `token`: the token alone, or the file that `gantry login` keeps (`~/.config/gantry/logins`). It is read again when the token is about to end. Environment: `GANTRY_TOKEN_FILE`.',
  }),
  trust_password: text({
    doc: 'With this password the provider adds the client certificate to the trusted certificates when it is missing there. Used once, never stored. Environment: `GANTRY_TRUST_PASSWORD`.',
    sensitive: true,
  }),
  trust_token: text({
    doc: 'One-use token of `gantry trust add` or `lxc config trust add`: with it the provider adds the client certificate to the trusted certificates when it is missing there, and, without `server_certificate`, accepts only the certificate of the server that made the token. Never stored; a used one may stay. Environment: `GANTRY_TRUST_TOKEN`.',
    sensitive: true,
  }),
  request_timeout: text({
    doc: 'How long a request may take without a byte from the server, such as `90s`; uploads and the streams of commands are exempt. Default: `60s`. Environment: `GANTRY_REQUEST_TIMEOUT`.',
    check: durationCheck,
  }),
  project: text({ doc: 'Project of all objects, on servers with projects. Environment: `GANTRY_PROJECT`.' }),
  target: text({ doc: 'Default cluster member for new objects. Environment: `GANTRY_TARGET`.' }),
} as const;

type Attributes = typeof settingsAttributes;
type Name = keyof Attributes;
export type SettingsConfig = ConfigOf<Attributes>;
export type Settings = StateOf<Attributes>;

export interface ReadSettings {
  readonly settings: Settings;
  /** `address from GANTRY_ADDRESS`: one for each that is set. */
  readonly sources: readonly string[];
  /** Names of settings that are known only after apply. */
  readonly unknown: readonly Name[];
}

export const environmentName = (name: string): string => `GANTRY_${name.toUpperCase()}`;

const names = Object.keys(settingsAttributes) as readonly Name[];

/** Reads the configuration first, then the environment, and no other source. */
export function readSettings(config: SettingsConfig, env: Readonly<Record<string, string | undefined>>): ReadSettings {
  const settings: Record<string, string | null> = {};
  const sources: string[] = [];
  const unknown: Name[] = [];
  for (const name of names) {
    const given = config[name];
    const fromEnv = env[environmentName(name)];
    settings[name] = null;
    if (isUnknown(given)) unknown.push(name);
    else if (given !== null) {
      settings[name] = given;
      sources.push(`${name} from the provider block`);
    } else if (fromEnv !== undefined && fromEnv !== '' && !isReplaced(config, name)) {
      settings[name] = fromEnv;
      sources.push(`${name} from ${environmentName(name)}`);
    }
  }
  return { settings: settings as Settings, sources, unknown };
}

function trustProblems(settings: Settings, has: (name: Name) => boolean): readonly Diagnostic[] {
  if (settings.token !== null && decodeTrustToken(settings.token) !== undefined)
    return [failure('token holds a trust token', 'Give it as trust_token, with a client certificate.', at('token'))];
  if (!has('trust_token')) return [];
  const { trust_token: token, address } = settings;
  const wrong = (summary: string, detail: string): Diagnostic => failure(summary, detail, at('trust_token'));
  if (token !== null && decodeTrustToken(token) === undefined)
    return [wrong('trust_token holds no trust token', 'It must be the whole text that gantry trust add printed.')];
  if (has('trust_password'))
    return [wrong('trust_token and trust_password exclude each other', 'Leave one of them out.')];
  if (address?.startsWith('https:') === false)
    return [wrong('A unix socket does not use a trust token', 'Use an https address, or leave the token out.')];
  if (has('client_certificate') || has('client_certificate_file')) return [];
  const detail = 'The token adds a certificate: set client_certificate and client_key, or their _file forms.';
  return [wrong('trust_token needs a client certificate', detail)];
}

const pairs = [
  ['client_certificate', 'client_certificate_file'],
  ['client_key', 'client_key_file'],
  ['token', 'token_file'],
] as const satisfies readonly (readonly [Name, Name])[];

const identities = {
  certificate: ['client_certificate', 'client_certificate_file', 'client_key', 'client_key_file'],
  token: ['token', 'token_file'],
} as const satisfies Readonly<Record<string, readonly Name[]>>;

/** A certificate or token in the configuration hides its other form and the other identity in the environment. */
const isReplaced = (config: SettingsConfig, name: Name): boolean =>
  isOther(config, name, identities.certificate, identities.token) ||
  isOther(config, name, identities.token, identities.certificate) ||
  pairs.some(
    ([inline, file]) => (name === inline && config[file] !== null) || (name === file && config[inline] !== null),
  );

const isOther = (config: SettingsConfig, name: Name, own: readonly Name[], other: readonly Name[]): boolean =>
  own.includes(name) && other.some((each) => config[each] !== null);

/** Errors in the combination of settings; unknown ones may still be right. */
export function settingsProblems({ settings, unknown }: ReadSettings): readonly Diagnostic[] {
  const has = (name: Name): boolean => settings[name] !== null || unknown.includes(name);
  const found: Diagnostic[] = [];
  if (!has('address')) {
    found.push(
      failure(
        'The address of the daemon is not given',
        `Set address in the provider block or ${environmentName('address')}, to unix:///path/to/unix.socket or https://host:8443. There is no default.`,
        at('address'),
      ),
    );
  }
  for (const [inline, file] of pairs) {
    if (!has(inline) || !has(file)) continue;
    found.push(
      failure(`${inline} and ${file} exclude each other`, 'Give the text itself or the path of a file.', at(file)),
    );
  }
  const { request_timeout: limit } = settings;
  if (limit !== null && parseDuration(limit) === undefined)
    found.push(failure('request_timeout is wrong', `It ${durationCheck(limit) ?? ''}.`, at('request_timeout')));
  const hasCertificate = has('client_certificate') || has('client_certificate_file');
  const hasKey = has('client_key') || has('client_key_file');
  if (hasCertificate !== hasKey) {
    const missing = hasCertificate ? 'client_key' : 'client_certificate';
    found.push(
      failure('Client certificate and key belong together', `Also set ${missing} or ${missing}_file.`, at(missing)),
    );
  }
  found.push(...trustProblems(settings, has));
  const hasToken = has('token') || has('token_file');
  if (hasToken && hasCertificate) {
    found.push(
      failure(
        'A token and a client certificate exclude each other',
        'The daemon would decide by the token alone: leave one of them out.',
        at(has('token') ? 'token' : 'token_file'),
      ),
    );
  }
  if (settings.address?.startsWith('https:') === false && hasToken) {
    found.push(
      failure('A unix socket does not use a token', 'Use an https address, or leave the token out.', at('address')),
    );
  }
  if (settings.address?.startsWith('https:') === false && hasCertificate) {
    found.push(
      failure(
        'A unix socket does not use a client certificate',
        'Use an https address, or leave the certificate out.',
        at('address'),
      ),
    );
  }
  return found;
}
