// Says which addresses in a change of the server config nobody could listen on: names without an address. Binds nothing.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Problem } from '../../api/problem.ts';
import { parseListenAddress } from '../../api/server/listen-address.ts';
import type { StoredServerConfig } from '../../api/server/server-config.ts';

const keys = ['cluster.https_address', 'core.debug_address', 'core.https_address', 'core.metrics_address'] as const;

/** For a valid config. A stored value may be sent again while its name has no address. */
export async function unknownListenNames(
  sent: Readonly<Record<string, unknown>>,
  current: StoredServerConfig,
): Promise<Problem[]> {
  const found = await Promise.all(
    keys.map(async (key): Promise<Problem[]> => {
      const value = sent[key];
      if (typeof value !== 'string' || value === '' || value === current[key]) return [];
      const host = parseListenAddress(value)?.host ?? '';
      if (host === '' || isIP(host) > 0 || (await hasAddress(host))) return [];
      const message = `cannot set ${key} to "${value}": the name "${host}" has no address here; give an IP address, or a name that this host resolves`;
      return [{ path: `config.${key}`, message }];
    }),
  );
  return found.flat();
}

const hasAddress = (host: string): Promise<boolean> =>
  lookup(host).then(
    () => true,
    () => false,
  );
