// Reads settings of the server as they hold now: the stored value, else the default. Changing them is server.ts.
import { serverConfigValue, type ServerConfigKeyName } from '../../api/server/server-config.ts';
import type { ProxySettings } from '../../drivers/remote/driver.ts';
import type { Records } from '../../records/records.ts';

export const settingOf = (records: Pick<Records, 'server'>, key: ServerConfigKeyName): string =>
  serverConfigValue(records.server.get('config')?.document.config ?? {}, key);

/** The proxies that lead out; each that is not set is as the environment has it. */
export function proxySettings(
  records: Pick<Records, 'server'>,
  env: Readonly<Record<string, string | undefined>>,
): ProxySettings {
  const inEnv = (name: string): string => env[name] ?? env[name.toLowerCase()] ?? '';
  const proxy = (key: 'core.proxy_http' | 'core.proxy_https', name: string): string => {
    const value = settingOf(records, key) || inEnv(name);
    return /^https?:\/\//.test(value) && URL.canParse(value) ? value : '';
  };
  return {
    http: proxy('core.proxy_http', 'HTTP_PROXY'),
    https: proxy('core.proxy_https', 'HTTPS_PROXY'),
    ignoreHosts: settingOf(records, 'core.proxy_ignore_hosts') || inEnv('NO_PROXY'),
  };
}
