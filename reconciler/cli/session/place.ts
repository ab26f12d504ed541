// The place of manifests: their common folder, relative to a git repository with a remote, else on this machine.
import { readFile, realpath, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { placeInRepository, placeOnMachine, type PlaceText, type SetPlace } from '../../core/ownership/place.ts';
import type { Context } from './context.ts';

/** The place of a plan of these files; --take-over lets it take objects that other places declared. */
export async function setPlaceOf(
  { io, options }: Pick<Context<{ readonly takeOver?: boolean | undefined }>, 'io' | 'options'>,
  files: readonly string[],
): Promise<SetPlace> {
  return { here: await placeOf(files, io.env), others: options.takeOver === true ? 'take' : 'refuse' };
}

/**
 * `files`: paths of manifests and their folders; `-` or an empty list means the working directory. GANTRY_PLACE names the place
 * where paths change from run to run. Reads only the config of the repository.
 */
export async function placeOf(
  files: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<PlaceText> {
  const named = env['GANTRY_PLACE'];
  if (named !== undefined && named !== '') return named;
  const folders = await Promise.all(files.filter((file) => file !== '-').map(folderOf));
  const folder = await realpath(commonFolder(folders)).catch(() => process.cwd());
  const repository = await repositoryOf(folder);
  if (repository === undefined) return placeOnMachine(hostname(), folder);
  return placeInRepository(repository.remote, relative(repository.root, folder).split(sep).join('/'));
}

async function folderOf(path: string): Promise<string> {
  const full = resolve(path);
  const found = await stat(full).catch(() => undefined);
  return found?.isDirectory() === true ? full : dirname(full);
}

/** The nearest folder above all of them; the folder of the first if they share only the root. */
function commonFolder(folders: readonly string[]): string {
  const [first = process.cwd(), ...others] = folders;
  const parts = first.split(sep);
  const shared = parts.findIndex((part, at) => others.some((other) => other.split(sep)[at] !== part));
  const common = (shared === -1 ? parts : parts.slice(0, shared)).join(sep);
  return common === '' ? first : common;
}

async function repositoryOf(folder: string): Promise<{ readonly root: string; readonly remote: string } | undefined> {
  for (const root of foldersUp(folder)) {
    const config = await configAt(join(root, '.git'));
    if (config === undefined) continue;
    const remote = /^\s*\[remote "origin"\][^[]*?^\s*url\s*=\s*(\S+)/m.exec(config)?.[1];
    return remote === undefined ? undefined : { root, remote };
  }
  return undefined;
}

/** The folder and those above it, the nearest first. */
export function foldersUp(folder: string): readonly string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersUp(above)];
}

/** The config of a repository, or of a worktree, whose `.git` is a file that names the repository. */
async function configAt(dotGit: string): Promise<string | undefined> {
  const found = await stat(dotGit).catch(() => undefined);
  if (found === undefined) return undefined;
  const text = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);
  if (found.isDirectory()) return (await text(join(dotGit, 'config'))) ?? '';
  const named = /^gitdir:\s*(.+)$/m.exec((await text(dotGit)) ?? '')?.[1]?.trim();
  if (named === undefined) return undefined;
  const own = isAbsolute(named) ? named : join(dirname(dotGit), named);
  const shared = ((await text(join(own, 'commondir'))) ?? '').trim();
  return (await text(join(own, shared, 'config'))) ?? '';
}
