// The config keys of the server: one table, and how a request merges with the stored config. Pure.
import { parseExpiry } from '../container/snapshot-expiry.ts';
import { defaultDebugPort, defaultMetricsPort, parseListenAddress } from './listen-address.ts';
import { architectureRule } from '../image/architectures.ts';
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';
import { parseIp } from '../text/ip.ts';

export interface ServerConfigKey {
  readonly type: 'text' | 'bool' | 'integer';
  readonly doc: string;
  readonly check: Check;
  /** The value while it is unset; absent: none. A value equal to it is never stored. */
  readonly default?: string;
  /** local: each member of a cluster has its own value. */
  readonly scope: 'local' | 'cluster';
  /** Never returned: reads back as true, and only a hash is stored. */
  readonly hidden?: boolean;
}

/** etcd advises against more. */
const maxVoters = 7;

type More = Partial<Pick<ServerConfigKey, 'default' | 'scope' | 'hidden'>>;

const row =
  (type: ServerConfigKey['type'], check: Check) =>
  (doc: string, more: More = {}): ServerConfigKey => ({ type, check, doc, scope: 'cluster', ...more });

const text = row('text', is.any);
const textOf = (check: Check, doc: string, more?: More): ServerConfigKey => row('text', check)(doc, more);
const flag = row('bool', is.bool);
const header = row('text', is.matches(/^[ -~]*$/, 'must be printable ASCII: it becomes a response header'));
const integer = (min?: number) => row('integer', is.paddedInteger(min));

const listenOr =
  (defaultPort: number | undefined, examples: string): Check =>
  (value) =>
    parseListenAddress(value, defaultPort) === undefined
      ? `must be an address with an optional port, such as ${examples}`
      : undefined;
const listen = listenOr(undefined, '10.0.0.1:8443, [::]:8443 or :8443');
const listenForMetrics = listenOr(defaultMetricsPort, '10.0.0.1:9100, [::]:9100 or :9100');
const listenForDebug = listenOr(defaultDebugPort, '127.0.0.1:8444 or :8444');
const program = is.matches(
  /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
  'must be none or the name of a program such as gzip or zstd',
);
const url = is.matches(/^https?:\/\/[^\s/]+/, 'must be an http or https URL');
const ratio = is.matches(/^(?:0|1|0?\.\d{1,9}|1\.0{1,9})$/, 'must be a number from 0 to 1, such as 0.1');
const list = is.matches(/^[^,]+(?:,[^,]+)*$/, 'must be names separated by commas');
const addresses: Check = (value) =>
  value.split(',').every((one) => parseIp(one.trim()) !== undefined)
    ? undefined
    : 'must be IP addresses separated by commas';
const issuer = is.matches(
  /^https:\/\/[^\s/?#]+[^\s?#]*$|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/[^\s?#]*)?$/,
  'must be an https URL without query; http only on this host',
);
const ed25519Key: Check = (value) =>
  /^[A-Za-z0-9+/]{43}=$/.test(value) ? undefined : 'must be 32 bytes in base64: the public key of the issuer';
const maasKey = is.matches(/^[^\s:]+:[^\s:]+:[^\s:]+$/, 'must be CONSUMER:TOKEN:SECRET, as MAAS shows it');
const replicas: Check = (value) =>
  value === '-1' || is.paddedInteger(1)(value) === undefined
    ? undefined
    : 'must be a whole number of at least 1, or -1 for all';
const voters: Check = (value) =>
  is.paddedInteger(3)(value) === undefined && Number(value) % 2 === 1 && Number(value) <= maxVoters
    ? undefined
    : `must be an odd number of at least 3, and ${maxVoters} at most: each write waits for more than half of them`;
const expiry: Check = (value) =>
  parseExpiry(value) === undefined
    ? 'must be numbers with a unit of M, H, d, w, m, y, such as 3H or 1d 12H'
    : undefined;
const perPool =
  (key: string): Check =>
  () =>
    `is now a setting of storage pools: set ${key} on the pool`;
const local = { scope: 'local' } as const;

export const serverConfigKeys = {
  'backups.allow_host_access': flag(
    'Also create containers from backups that grant access to the host (privileged, paths of the host, raw.*) when the request has no flag for it.',
    { default: 'false' },
  ),
  'backups.compression_algorithm': textOf(program, 'Program that packs backups.', { default: 'gzip' }),
  'candid.api.key': textOf(
    ed25519Key,
    'Where candid.api.url is the issuer: its public key (Ed25519, base64), which alone signs good tokens; it is asked for no keys then.',
  ),
  'candid.api.url': textOf(
    url,
    'Address of the identity provider: the OpenID Connect issuer while oidc.issuer is unset (https, on this host, or with candid.api.key). Listed in auth_methods.',
  ),
  'candid.domains': text(
    'Where candid.api.url is the issuer: only users NAME@DOMAIN of these domains are accepted, comma separated. Unset: all.',
  ),
  'candid.expiry': integer(1)('Where candid.api.url is the issuer: seconds after its issue in which a token is good.', {
    default: '3600',
  }),
  'cluster.healing_threshold': integer(0)(
    'Seconds for which a member must be offline until other members start its containers on shared storage; 0: never. At least 10 more than cluster.offline_threshold, else that is taken.',
    { default: '0' },
  ),
  'cluster.https_address': textOf(listen, 'Address for the other members of the cluster.', local),
  'cluster.images_minimal_replica': row('integer', replicas)('Members that keep a copy of an image; -1: all.', {
    default: '3',
  }),
  'cluster.join_token_expiry': textOf(
    expiry,
    'Time for which a token that lets a host join is good, such as 3H or 1d.',
    { default: '3H' },
  ),
  'cluster.max_voters': row('integer', voters)(
    'Members that run an etcd of the cluster and vote; an odd number. The others reach the records through these.',
    { default: '3' },
  ),
  'cluster.offline_threshold': integer(5)('Seconds of silence after which a member counts as offline.', {
    default: '20',
  }),
  'core.debug_address': textOf(
    listenForDebug,
    'Address of a plain HTTP listener that gives everybody who reaches it profiles of the daemon, in the format of pprof; port 8444 unless given, and the loopback without a host.',
    local,
  ),
  'core.https_address': textOf(listen, 'Address for remote clients; port 8443 unless given.', local),
  'core.https_allowed_credentials': flag('Send Access-Control-Allow-Credentials.', { default: 'false' }),
  'core.https_allowed_headers': header('Access-Control-Allow-Headers for browsers.'),
  'core.https_allowed_methods': header('Access-Control-Allow-Methods for browsers.'),
  'core.https_allowed_origin': header('Access-Control-Allow-Origin for browsers.'),
  'core.https_trusted_proxy': textOf(
    addresses,
    'Addresses of proxies, comma separated, that may send the header of the PROXY protocol (version 1 or 2) before TLS: the client that it names counts in logs, events and limits of connections.',
  ),
  'core.metrics_address': textOf(
    listenForMetrics,
    'Address of a listener that serves metrics and nothing else; port 9100 unless given.',
    local,
  ),
  'core.metrics_authentication': flag(
    'Only trusted clients and those with a certificate of type metrics get metrics. false: everybody who reaches a TLS listener.',
    { default: 'true' },
  ),
  'core.proxy_http': textOf(url, 'Proxy for http. Unset: as the environment has it.'),
  'core.proxy_https': textOf(url, 'Proxy for https. Unset: as the environment has it.'),
  'core.proxy_ignore_hosts': text('Hosts reached without a proxy, comma separated.'),
  'core.remote_token_expiry': textOf(
    expiry,
    'Time for which a token that adds a certificate is good, such as 3H or 1d. Unset: until it is used.',
  ),
  'core.shutdown_timeout': integer(0)(
    'Minutes that an orderly stop of the daemon waits for changes of the host that are under way. Unset: 10 seconds. The next start finishes or undoes what is left.',
  ),
  'core.trace_endpoint': textOf(
    url,
    'Base URL of an OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318, which gets traces of requests and operations. Unset: as OTEL_EXPORTER_OTLP_ENDPOINT in the environment of gantryd has it.',
  ),
  'core.trace_sample_ratio': textOf(
    ratio,
    'Share of requests that are traced, from 0 to 1; a request that belongs to a trace of its caller follows that one. Unset: as OTEL_TRACES_SAMPLER has it, else 1.',
  ),
  'core.trust_ca_certificates': flag(
    'Clients with a certificate of an authority in server.ca are trusted with everything, unless they are restricted.',
    { default: 'false' },
  ),
  'core.trust_password': text('Password with which clients add their certificate.', { hidden: true }),
  'images.auto_update_cached': flag('Keep images current that were fetched on demand.', { default: 'true' }),
  'images.auto_update_interval': integer(0)('Hours between looks for newer images; 0: never.', { default: '6' }),
  'images.compression_algorithm': textOf(program, 'Program that packs images.', { default: 'gzip' }),
  'images.default_architecture': textOf(
    architectureRule,
    'Architecture of the cluster members that take new containers, where any of them can and the project names none.',
  ),
  'images.remote_cache_expiry': integer()('Days an unused fetched image is kept; 0 or less: forever.', {
    default: '10',
  }),
  'maas.api.key': textOf(maasKey, 'Key for the MAAS server, as MAAS shows it: CONSUMER:TOKEN:SECRET.'),
  'maas.api.url': textOf(url, 'Address of the MAAS server, such as http://10.0.0.2:5240/MAAS.'),
  'maas.machine': text('Name of this host in MAAS. Unset: the host name.', local),
  'oidc.audience': text('Audience of a token (claim aud). Unset: oidc.client.id.'),
  'oidc.client.id': text('Client id at the OpenID Connect issuer.'),
  'oidc.groups.claim': text('Claim of a token with the groups of its user.', { default: 'groups' }),
  'oidc.groups.projects.*': textOf(
    list,
    'For the group named in the place of *: the only projects that its users may use, comma separated.',
  ),
  'oidc.groups.trusted': textOf(list, 'Groups whose users are trusted with everything, comma separated.'),
  'oidc.issuer': textOf(
    issuer,
    'OpenID Connect issuer whose tokens clients may send over TLS, exactly as the issuer names itself.',
  ),
  'storage.lvm_fstype': textOf(perPool('volume.block.filesystem'), 'Former key; now a setting of pools.', {
    default: 'ext4',
  }),
  'storage.lvm_mount_options': text('Mount options of LVM volumes whose pool sets none.', { default: 'discard' }),
  'storage.lvm_thinpool_name': textOf(perPool('lvm.thinpool_name'), 'Former key; now a setting of pools.'),
  'storage.lvm_vg_name': textOf(perPool('lvm.vg_name'), 'Former key; now a setting of pools.'),
  'storage.lvm_volume_size': textOf(perPool('volume.size'), 'Former key; now a setting of pools.', {
    default: '10GiB',
  }),
  'storage.zfs_pool_name': textOf(perPool('zfs.pool_name'), 'Former key; now a setting of pools.'),
  'storage.zfs_remove_snapshots': flag('Remove newer ZFS snapshots when an older one is restored.', {
    default: 'false',
  }),
  'storage.zfs_use_refquota': flag('ZFS quotas do not count snapshots.', { default: 'false' }),
} as const satisfies Record<string, ServerConfigKey>;

export type ServerConfigKeyName = keyof typeof serverConfigKeys;
/** The stored form: no defaults, no empty values; hidden keys have their hash. */
export type StoredServerConfig = Readonly<Record<string, string>>;

/** Free for clients: LXD accepts any such key, and tools store data there. */
export const userKey = text('Free for users.');

export function serverConfigKey(key: string): ServerConfigKey | undefined {
  if (Object.hasOwn(serverConfigKeys, key)) return serverConfigKeys[key as ServerConfigKeyName];
  if (/^oidc\.groups\.projects\.\S/.test(key)) return serverConfigKeys['oidc.groups.projects.*'];
  return /^user\../.test(key) ? userKey : undefined;
}

export interface ServerConfigChange {
  /** The config to store, without the new secrets. */
  readonly config: StoredServerConfig;
  /** New values of hidden keys, in clear: to be hashed and added to `config`. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Keys whose value changed, sorted. */
  readonly changed: readonly string[];
}

/** The config to store after a valid request. put: absent keys return to their default; patch: they stay. */
export function mergeServerConfig(
  current: StoredServerConfig,
  sent: Readonly<Record<string, unknown>>,
  mode: 'put' | 'patch',
): ServerConfigChange {
  const config: Record<string, string> = mode === 'patch' ? { ...current } : {};
  const secrets: Record<string, string> = {};
  for (const [key, value] of Object.entries(sent)) {
    const fact = serverConfigKey(key);
    const stored = current[key];
    delete config[key];
    if (fact?.hidden === true && value === true) {
      if (stored !== undefined) config[key] = stored;
    } else if (fact !== undefined && typeof value === 'string' && value !== '') {
      const normalized = normalValue(fact, value);
      if (fact.hidden === true) secrets[key] = value;
      else if (normalized !== fact.default) config[key] = normalized;
    }
  }
  const keys = new Set([...Object.keys(current), ...Object.keys(config), ...Object.keys(secrets)]);
  const changed = [...keys].filter((key) => key in secrets || current[key] !== config[key]).toSorted();
  return { config, secrets, changed };
}

/** The canonical spelling of a value, so that equal values compare equal. */
export function normalValue(fact: ServerConfigKey, value: string): string {
  if (fact.type === 'bool' && is.bool(value) === undefined) return String(is.isTrue(value));
  if (fact.type === 'integer' && is.paddedInteger()(value) === undefined)
    return String(BigInt(value.replace(/^\+/, '')));
  return value;
}

/** The config as GET returns it: no defaults, and only true for hidden keys. */
export function renderServerConfig(config: StoredServerConfig): Record<string, string | true> {
  const shown = Object.entries(config)
    .filter(([, value]) => value !== '')
    .map(([key, value]) => [key, serverConfigKey(key)?.hidden === true ? true : value] as const);
  return Object.fromEntries(shown.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The effective value: the stored one, else the default, else empty. */
export function serverConfigValue(config: StoredServerConfig, key: ServerConfigKeyName): string {
  const fact: ServerConfigKey = serverConfigKeys[key];
  return config[key] ?? fact.default ?? '';
}

/** Whether `core.https_trusted_proxy` has this address, in any spelling. */
export function isTrustedProxy(value: string, address: string): boolean {
  if (value === '') return false;
  const plain = (text: string): string => {
    const ip = parseIp(text.trim().replace(/^::ffff:(?=[0-9.]+$)/, ''));
    return ip === undefined ? text : `${ip.family} ${ip.value}`;
  };
  return value.split(',').some((one) => plain(one) === plain(address));
}

/** Unknown keys belong to the cluster. */
export const serverConfigScope = (key: string): 'local' | 'cluster' => serverConfigKey(key)?.scope ?? 'cluster';
