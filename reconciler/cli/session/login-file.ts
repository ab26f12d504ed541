// The file with a user's login at one server: readable only by the user, replaced as a whole.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inTurn } from '../output/folder-lock.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';
import { replaceWhole } from '../../../server/lib/durable-files.ts';
import { homeFolder } from '../../manifest/text/home-folder.ts';

export interface Login {
  /** The server, in its normal form. */
  readonly host: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly access_token: string;
  readonly refresh_token?: string;
  /** Milliseconds since 1970. */
  readonly expires_at: number;
  /** The only certificate of the server that is accepted: --server-cert of the login. */
  readonly server_cert?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

const folderOf = (env: Env): string =>
  join(env['XDG_CONFIG_HOME'] || join(homeFolder(env), '.config'), 'gantry', 'logins');

const fileOf = (env: Env, host: string): string => join(folderOf(env), `${encodeURIComponent(host)}.json`);

/** Undefined without a login; a damaged file counts as none. */
export async function readLogin(env: Env, host: string): Promise<Login | undefined> {
  try {
    const read: unknown = JSON.parse(await readFile(fileOf(env, host), 'utf8'));
    return isLogin(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

export async function writeLogin(env: Env, login: Login): Promise<void> {
  await makeFolder(folderOf(env), 0o700);
  await replaceWhole(fileOf(env, login.host), `${JSON.stringify(login, null, 2)}\n`, { isPrivate: true });
}

/** Runs `work` while no other process renews a login. */
export const whileAlone = <T>(env: Env, work: () => Promise<T>): Promise<T> => inTurn(folderOf(env), work);

export const removeLogin = (env: Env, host: string): Promise<void> => rm(fileOf(env, host), { force: true });

function isLogin(read: unknown): read is Login {
  if (typeof read !== 'object' || read === null) return false;
  const members = read as Readonly<Record<string, unknown>>;
  const texts = ['host', 'issuer', 'client_id', 'access_token'] as const;
  return texts.every((name) => typeof members[name] === 'string') && typeof members['expires_at'] === 'number';
}
