// Chooses the image of a first container: from a remote, from the server, or built from local busybox if no remote answers.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withLimit } from '../../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { commandError } from '../../errors/usage-error.ts';
import type { ShownIo } from '../../output/safe-io.ts';
import { parseImageWord, type Remotes } from '../../session/remotes.ts';
import { isThere } from '../../../../server/lib/shared/missing-files.ts';

export const usualImage = 'images:debian/12';

/** Images that this machine can build, by their names on the command line. */
const recipes = {
  busybox: { script: 'build-image.sh', file: 'busybox.tar.gz', alias: 'busybox', of: "this machine's busybox" },
  debootstrap: { script: 'build-debian.sh', file: 'debian.tar.gz', alias: 'debian', of: 'Debian with debootstrap' },
} as const;
export type OwnImage = keyof typeof recipes;

export const ownImage = (word: string): OwnImage | undefined =>
  Object.hasOwn(recipes, word) ? (word as OwnImage) : undefined;

const patienceMs = 5000;

/** Why this machine cannot reach an image's server; undefined if it can, or if the image names no server. */
export async function unreachable(word: string, remotes: Remotes, stop: AbortSignal): Promise<string | undefined> {
  const { remote } = parseImageWord(word, remotes);
  if (remote?.protocol !== 'simplestreams') return undefined;
  const signal = withLimit(stop, patienceMs);
  try {
    const { status } = await fetch(`${remote.url}/streams/v1/index.json`, { method: 'HEAD', signal });
    return status < 400 ? undefined : `${remote.url} answers with HTTP ${status}`;
  } catch (error) {
    stop.throwIfAborted();
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return `${remote.url} is not reached (${reasonOf(cause)})`;
  }
}

const hostBusyboxes = ['/bin/busybox', '/usr/bin/busybox'];

type Io = Pick<ShownIo, 'env' | 'userId'>;

/** The images that this machine can build, the smallest first. */
export async function ownImages({ env, userId }: Io): Promise<readonly OwnImage[]> {
  const folders = [...(env['PATH'] ?? '').split(':').filter(Boolean), '/usr/sbin'];
  const isOneThere = async (paths: readonly string[]): Promise<boolean> =>
    (await Promise.all(paths.map((path) => isThere(path)))).includes(true);
  const canBootstrap = userId === 0 && (await isOneThere(folders.map((folder) => join(folder, 'debootstrap'))));
  return [
    ...((await isOneThere(hostBusyboxes)) ? (['busybox'] as const) : []),
    ...(canBootstrap ? (['debootstrap'] as const) : []),
  ];
}

/** Writes the image into the directory; an earlier one stays as it is. */
export async function makeOwnImage(image: OwnImage, directory: string, { env }: Io): Promise<void> {
  const { script, file, of } = recipes[image];
  const path = join(directory, file);
  if (await isThere(path)) return;
  const options = { env: { PATH: process.env['PATH'], ...env } };
  await promisify(execFile)('sh', [await findScript(script), path], options).catch((error: unknown) => {
    throw commandError(`cannot make an image of ${of}: ${reasonOf(error)}`, error);
  });
}

/** Finds a script of the examples, which the package includes. */
async function findScript(name: string): Promise<string> {
  for (let at = dirname(fileURLToPath(import.meta.url)); at !== dirname(at); at = dirname(at)) {
    const script = join(at, 'examples', 'quickstart', name);
    if (await isThere(script)) return script;
  }
  throw commandError(`examples/quickstart/${name} is missing beside this program: install it again`);
}

/** The alias for the container, and the image document if the alias needs one. */
export function imageDocuments(word: string, remotes: Remotes): { readonly document: string; readonly alias: string } {
  const own = ownImage(word);
  if (own !== undefined) {
    const { file, alias, of } = recipes[own];
    const document = `kind: image
name: ${alias}
file: ${file} # made of ${of}
aliases: [${alias}]
---
`;
    return { document, alias };
  }
  const { remote, alias } = parseImageWord(word, remotes);
  if (remote === undefined) return { document: '', alias };
  return {
    document: `kind: image
name: ${JSON.stringify(alias)}
source: { type: image, server: ${JSON.stringify(remote.url)}, protocol: ${remote.protocol}, alias: ${JSON.stringify(alias)} }
aliases: [${JSON.stringify(alias)}]
---
`,
    alias,
  };
}
