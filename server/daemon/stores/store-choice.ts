// Chooses the store of a daemon by its flags: the file in the state directory, or an etcd with its TLS and login files.
import type { ClusterStore } from '../../membership/membership.ts';
import { readFile } from 'node:fs/promises';
import type { LinkOptions } from '../../store/etcd/link.ts';
import { type EtcdAddress, parseEtcdAddress } from '../../store/etcd/address.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** Flags and files for an etcd. */
export type EtcdChoice = Pick<ClusterStore, 'address' | 'ca' | 'cert' | 'key' | 'login'>;

export const storeFlagOptions = {
  store: { type: 'string' },
  'store-ca': { type: 'string' },
  'store-cert': { type: 'string' },
  'store-key': { type: 'string' },
  'store-login': { type: 'string' },
} as const;

export type StoreFlags = { readonly [K in keyof typeof storeFlagOptions]?: string | undefined };

/** Undefined: no etcd flag was given. Throws an Error that names the wrong flag. */
export function readStoreFlags(flags: StoreFlags): EtcdChoice | undefined {
  const { store, 'store-ca': ca, 'store-cert': cert, 'store-key': key, 'store-login': login } = flags;
  if (store === undefined) {
    const other = [ca, cert, key, login].some((value) => value !== undefined);
    if (other) throw new Error('--store-ca, --store-cert, --store-key and --store-login need --store');
    return undefined;
  }
  parseEtcdAddress(store);
  if ((cert === undefined) !== (key === undefined)) throw new Error('--store-cert and --store-key belong together');
  return {
    address: store,
    ...withoutUndefined({ ca, cert, key, login }),
  };
}

/** Reads the files. Throws an Error that names the flag and the file. */
export async function etcdSettings(choice: EtcdChoice): Promise<LinkOptions & Pick<EtcdAddress, 'name'>> {
  const { endpoints, name } = parseEtcdAddress(choice.address);
  const [ca, cert, key, login] = await Promise.all([
    fileOf('--store-ca', choice.ca),
    fileOf('--store-cert', choice.cert),
    fileOf('--store-key', choice.key),
    fileOf('--store-login', choice.login),
  ]);
  const tls = {
    ...withoutUndefined({ ca, cert, key }),
  };
  return {
    endpoints,
    name,
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...(login === undefined ? {} : { login: parseLogin(login.toString('utf8'), choice.login ?? '') }),
  };
}

/** Throws an Error that does not reveal the file's content. */
export function parseLogin(text: string, path: string): { readonly user: string; readonly password: string } {
  const line = text.replace(/\r?\n$/, '');
  const colon = line.indexOf(':');
  if (colon < 1 || colon === line.length - 1 || line.includes('\n'))
    throw new Error(`--store-login: ${path} must hold one line USER:PASSWORD`);
  return { user: line.slice(0, colon), password: line.slice(colon + 1) };
}

async function fileOf(flag: string, path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (cause) {
    throw new Error(`${flag}: cannot read ${path}`, { cause });
  }
}
