// The secrets of one set of gantry.yaml: absolute paths, and the one way to log in to Vault.
import type { VaultLogin } from '../../manifest/secrets/vault-session.ts';
import { addressProblem } from '../../manifest/secrets/vault-http.ts';
import type { SetConfig } from './config.ts';
import type { WrittenSecrets, WrittenVault } from './secrets-schema.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface SecretsReader {
  readonly absolute: (path: string) => string;
  readonly duration: (path: string, value: string | number | undefined, otherwise: number, least: number) => number;
  readonly wrong: (path: string, message: string) => void;
}

const podToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';
const usualIntervalMs = 300_000;

export function readSecrets(
  { ageKeyFile, gpgKeyFile, vault }: WrittenSecrets,
  reader: SecretsReader,
): Pick<SetConfig, 'ageKeyFile' | 'gpgKeyFile' | 'vault'> {
  return {
    ...(ageKeyFile === undefined ? {} : { ageKeyFile: reader.absolute(ageKeyFile) }),
    ...(gpgKeyFile === undefined ? {} : { gpgKeyFile: reader.absolute(gpgKeyFile) }),
    ...(vault === undefined ? {} : readVault(vault, reader)),
  };
}

function readVault(vault: WrittenVault, { absolute, duration, wrong }: SecretsReader): Pick<SetConfig, 'vault'> {
  const { address, namespace, caFile, interval } = vault;
  const why = addressProblem(address);
  if (why !== undefined) wrong('secrets.vault.address', why);
  const logins = loginsOf(vault, absolute);
  const [login] = logins;
  if (login === undefined || logins.length > 1)
    wrong('secrets.vault', `needs one of tokenFile, appRole, jwt and kubernetes, has ${logins.length}`);
  const intervalMs = duration('secrets.vault.interval', interval, usualIntervalMs, 1000);
  if (login === undefined) return {};
  return {
    vault: {
      address,
      login,
      intervalMs,
      ...withoutUndefined({ namespace }),
      ...(caFile === undefined ? {} : { caFile: absolute(caFile) }),
    },
  };
}

function loginsOf(
  { tokenFile, appRole, jwt, kubernetes }: WrittenVault,
  absolute: SecretsReader['absolute'],
): readonly VaultLogin[] {
  const found: VaultLogin[] = [];
  if (tokenFile !== undefined) found.push({ method: 'tokenFile', file: absolute(tokenFile) });
  if (appRole !== undefined) {
    const { roleId, secretIdFile, mount = 'approle' } = appRole;
    found.push({ method: 'appRole', mount, roleId, secretIdFile: absolute(secretIdFile) });
  }
  if (jwt !== undefined)
    found.push({ method: 'jwt', mount: jwt.mount ?? 'jwt', role: jwt.role, file: absolute(jwt.file) });
  if (kubernetes !== undefined) {
    const { role, file = podToken, mount = 'kubernetes' } = kubernetes;
    found.push({ method: 'jwt', mount, role, file: absolute(file) });
  }
  return found;
}
