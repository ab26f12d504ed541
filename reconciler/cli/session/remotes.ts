// Image servers by short names: the built-in ones, and the user's own from a file in the configuration directory.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { usageError } from '../errors/usage-error.ts';
import { changing, readConfig, writeConfig, type Env } from './config-file.ts';

export const remoteProtocols = ['simplestreams', 'svc', 'lxd'] as const;

export interface Remote {
  readonly url: string;
  readonly protocol: (typeof remoteProtocols)[number];
  readonly isBuiltIn?: boolean;
}

export type Remotes = ReadonlyMap<string, Remote>;

const builtIn: Readonly<Record<string, string>> = {
  images: 'https://images.linuxcontainers.org',
  ubuntu: 'https://cloud-images.ubuntu.com/releases',
  'ubuntu-daily': 'https://cloud-images.ubuntu.com/daily',
};

const file = 'remotes.json';

/** Sorted by name. A remote of the user overrides the built-in one of that name. */
export async function readRemotes(env: Env): Promise<Remotes> {
  const known = Object.entries(builtIn).map(([name, url]): [string, Remote] => [
    name,
    { url, protocol: 'simplestreams', isBuiltIn: true },
  ]);
  const all = new Map([...known, ...(await ownRemotes(env))]);
  return new Map([...all].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const ownRemotes = (env: Env): Promise<Remotes> =>
  readConfig(env, {
    name: file,
    what: 'a list of remotes',
    parse: (read) => new Map(Object.entries(read as object).map(([name, value]) => [name, remoteOf(value)])),
  });

function remoteOf(value: unknown): Remote {
  const { url, protocol } = (value ?? {}) as { readonly url?: unknown; readonly protocol?: unknown };
  const found = remoteProtocols.find((one) => one === protocol);
  if (typeof url !== 'string' || found === undefined) throw new Error('a remote needs a url and a protocol');
  return { url, protocol: found };
}

/** Undefined removes it. The file is replaced as a whole. */
export async function writeRemote(env: Env, name: string, remote: Remote | undefined): Promise<void> {
  await changing(env, async () => {
    const own = new Map(await ownRemotes(env));
    if (remote === undefined) own.delete(name);
    else own.set(name, remote);
    await writeConfig(env, file, Object.fromEntries(own));
  });
}

export interface ImageWord {
  /** Absent: an image of the server itself. */
  readonly remote?: Remote;
  readonly alias: string;
}

/** `images:debian/12`, or `debian` and `local:debian` for an image of the server itself. */
export function parseImageWord(word: string, remotes: Remotes): ImageWord {
  const colon = word.indexOf(':');
  if (colon === -1) return { alias: word };
  const [name, alias] = [word.slice(0, colon), word.slice(colon + 1)];
  if (alias === '') throw usageError(`${JSON.stringify(word)} names no image: as in images:debian/12`);
  if (name === 'local') return { alias };
  const remote = remotes.get(name);
  if (remote !== undefined) return { remote, alias };
  const known = [...remotes.keys()];
  throw usageError(
    `there is no remote ${name}${hint(name, known)}; the remotes are ${known.join(', ')}: gantry remote add ${name} URL adds one`,
  );
}
