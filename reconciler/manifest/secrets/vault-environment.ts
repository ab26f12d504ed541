// Finds the address and the token of Vault in the environment of a user: the variables and the file of Vault's own client.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VaultError } from './vault-http.ts';
import { VaultSecrets, type ReadSecret } from './vault-secrets.ts';
import { homeFolder } from '../text/home-folder.ts';

/** Nothing is read before the first secret. Close it at the end. */
export function vaultOfEnvironment(env: Readonly<Record<string, string | undefined>>): {
  readonly read: ReadSecret;
  readonly close: () => Promise<void>;
} {
  let opened: Promise<VaultSecrets> | undefined;
  let reading: ReadSecret | undefined;
  return {
    read: async (reference, signal) => {
      opened ??= open(env);
      const vault = await opened;
      reading ??= vault.reading().read;
      return reading(reference, signal);
    },
    close: async () => (await opened?.catch(() => undefined))?.close(),
  };
}

async function open(env: Readonly<Record<string, string | undefined>>): Promise<VaultSecrets> {
  const { VAULT_ADDR: address, VAULT_NAMESPACE: namespace, VAULT_CACERT: caFile } = env;
  if (address === undefined) throw new VaultError('refused', 'the environment has no VAULT_ADDR');
  const token = env['VAULT_TOKEN'] ?? (await tokenOfHome(homeFolder(env)));
  if (token === undefined)
    throw new VaultError('denied', 'the environment has no VAULT_TOKEN, and no vault login was made');
  return new VaultSecrets({ address, namespace, caFile, login: { method: 'token', token } });
}

const tokenOfHome = (home: string): Promise<string | undefined> =>
  readFile(join(home, '.vault-token'), 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
