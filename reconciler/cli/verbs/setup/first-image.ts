// The image of a first container: of a remote, of the server, or made of the busybox of this machine where no remote is reached.
import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError } from '../../errors/usage-error.ts';
import { parseImageWord, type Remotes } from '../../session/remotes.ts';

export const usualImage = 'images:debian/12';
export const busyboxImage = 'busybox';
const busyboxFile = 'busybox.tar.gz';

const patienceMs = 5000;

/** Why this machine does not reach the server of an image; undefined when it does, or when the image names none. */
export async function unreachable(word: string, remotes: Remotes, stop: AbortSignal): Promise<string | undefined> {
  const { remote } = parseImageWord(word, remotes);
  if (remote?.protocol !== 'simplestreams') return undefined;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(patienceMs)]);
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

/** Whether this machine has what the image of busybox is made of. */
export const hasBusybox = async (): Promise<boolean> =>
  (await Promise.all(hostBusyboxes.map((path) => isThere(path)))).includes(true);

/** Writes the image into the directory; an earlier one stays as it is. */
export async function makeBusyboxImage(directory: string): Promise<void> {
  const file = join(directory, busyboxFile);
  if (await isThere(file)) return;
  const script = await findScript();
  await promisify(execFile)('sh', [script, file]).catch((error: unknown) => {
    throw new CliError(`cannot make an image of this machine's busybox: ${reasonOf(error)}`, exitCodes.error, error);
  });
}

/** The example's script, which the package has too. */
async function findScript(): Promise<string> {
  for (let at = dirname(fileURLToPath(import.meta.url)); at !== dirname(at); at = dirname(at)) {
    const script = join(at, 'examples', 'quickstart', 'build-image.sh');
    if (await isThere(script)) return script;
  }
  throw new CliError(
    'examples/quickstart/build-image.sh is missing beside this program: install it again',
    exitCodes.error,
  );
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The document that declares the image, if one has to, and how the container names it. */
export function imageDocuments(word: string, remotes: Remotes): { readonly document: string; readonly alias: string } {
  if (word === busyboxImage)
    return {
      document: `kind: image
name: ${busyboxImage}
file: ${busyboxFile} # made of the busybox of this machine
aliases: [${busyboxImage}]
---
`,
      alias: busyboxImage,
    };
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
