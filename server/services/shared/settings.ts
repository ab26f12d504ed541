// Reads current settings of the server: the stored value, else the default. server.ts changes them.
import { hostname } from 'node:os';
import type { MemberConfigDocument } from '../../records/cluster-documents.ts';
import { serverConfigScope, serverConfigValue, type ServerConfigKeyName } from '../../api/server/server-config.ts';
import { proxyVariable, type ProxySettings } from '../../lib/shared/net/proxy-for.ts';
import type { StoredServerConfig } from '../../api/server/server-config.ts';
import type { ServerDocument } from '../../records/documents.ts';
import type { Changes, Records } from '../../records/records.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

type ConfigRecords = Pick<Records, 'server' | 'memberConfig' | 'member'>;

const noConfig: StoredServerConfig = {};
const joined = new WeakMap<object, { readonly of: readonly unknown[]; readonly config: StoredServerConfig }>();

/** The stored config: in a cluster, the shared keys and this member's own. The same object until it changes. */
export function storedConfig(records: ConfigRecords): StoredServerConfig {
  const shared = records.server.get('config')?.document.config ?? noConfig;
  const own = records.member === undefined ? undefined : records.memberConfig.get('config')?.document.config;
  if (own === undefined) return shared;
  const kept = joined.get(records);
  if (kept?.of[0] === shared && kept.of[1] === own) return kept.config;
  const config = { ...shared, ...own };
  joined.set(records, { of: [shared, own], config });
  return config;
}

/** The dialect spoken at core.https_address; undefined: the daemon's own. */
export function storedDialect(records: ConfigRecords): string | undefined {
  const own = records.member === undefined ? records.server.get('config') : records.memberConfig.get('config');
  return own?.document.httpsDialect;
}

/** Stores the whole config: in a cluster, member-specific keys with the member. */
export function putConfig(
  records: ConfigRecords,
  changes: Changes,
  config: StoredServerConfig,
  httpsDialect: string,
): void {
  if (records.member === undefined) {
    changes.put('server', 'config', { v: 1, config, httpsDialect });
    return;
  }
  const { shared, own } = splitConfig({ v: 1, config, httpsDialect });
  const before = records.server.get('config')?.document.config ?? noConfig;
  // Other members would see a change where there is none.
  if (JSON.stringify(before) !== JSON.stringify(shared.config)) changes.put('server', 'config', shared);
  changes.put('memberConfig', 'config', own);
}

/** Separates member-specific keys from the cluster's. Pure. */
export function splitConfig({ config, httpsDialect }: ServerDocument): {
  readonly shared: ServerDocument;
  readonly own: MemberConfigDocument;
} {
  const part = (isWanted: (key: string) => boolean): Record<string, string> =>
    Object.fromEntries(Object.entries(config).filter(([key]) => isWanted(key)));
  return {
    shared: { v: 1, config: part((key) => !isMemberKey(key)) },
    own: { v: 1, config: part(isMemberKey), ...withoutUndefined({ httpsDialect }) },
  };
}

const isMemberKey = (key: string): boolean => serverConfigScope(key) === 'local';

export const settingOf = (records: ConfigRecords, key: ServerConfigKeyName): string =>
  serverConfigValue(storedConfig(records), key);

/** How long an orderly stop waits for operations that cannot end early. */
export function stopPatienceMs(records: ConfigRecords): number {
  const minutes = settingOf(records, 'core.shutdown_timeout');
  return minutes === '' ? 10_000 : Number(minutes) * 60_000;
}

/** Undefined: no MAAS server is set. `machine`: MAAS' name of this host. */
export function maasSettings(
  records: ConfigRecords,
): { readonly url: string; readonly key: string; readonly machine: string } | undefined {
  const url = settingOf(records, 'maas.api.url');
  const key = settingOf(records, 'maas.api.key');
  const machine = settingOf(records, 'maas.machine') || (hostname().split('.')[0] ?? '');
  return url === '' || key === '' ? undefined : { url, key, machine };
}

/** The proxies for outgoing connections; unset ones come from the environment. */
export function proxySettings(
  records: ConfigRecords,
  env: Readonly<Record<string, string | undefined>>,
): ProxySettings {
  const proxy = (key: 'core.proxy_http' | 'core.proxy_https', name: string): string => {
    const value = settingOf(records, key) || proxyVariable(env, name);
    return /^https?:\/\//.test(value) && URL.canParse(value) ? value : '';
  };
  return {
    http: proxy('core.proxy_http', 'HTTP_PROXY'),
    https: proxy('core.proxy_https', 'HTTPS_PROXY'),
    ignoreHosts: settingOf(records, 'core.proxy_ignore_hosts') || proxyVariable(env, 'NO_PROXY'),
  };
}
