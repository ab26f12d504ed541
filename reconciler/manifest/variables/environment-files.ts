// Finds the files of an environment (`--env prod`) by its name in `overlays` beside the manifests. They are read like all other
// manifests and variable files.
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { compareText } from '../../core/text/listing-order.ts';

export interface Environment {
  /** Manifests: patches mostly. */
  readonly paths: readonly string[];
  /** Files of variables. */
  readonly varFiles: readonly string[];
}

export interface Environments {
  readonly known: readonly string[];
  /** The searched places. */
  readonly folders: readonly string[];
  readonly of: (name: string) => Environment | undefined;
}

interface Entry {
  readonly environment: string;
  readonly file: string;
  readonly isVars: boolean;
}

const manifest = /^(.+?)(\.vars)?\.ya?ml$/;

/** Finds the files for all paths of a load; those of stdin are in the current directory. */
export async function findEnvironments(paths: readonly string[]): Promise<Environments> {
  const bases = await Promise.all(paths.map(baseOf));
  const folders = [...new Set(bases.map((base) => join(base, 'overlays')))];
  const entries = (await Promise.all(folders.map(entriesOf))).flat();
  const known = [...new Set(entries.map(({ environment }) => environment))].sort(compareText);
  return {
    known,
    folders,
    of: (name) => {
      const own = entries.filter(({ environment }) => environment === name);
      if (own.length === 0) return undefined;
      return {
        paths: own.filter(({ isVars }) => !isVars).map(({ file }) => file),
        varFiles: own.filter(({ isVars }) => isVars).map(({ file }) => file),
      };
    },
  };
}

async function baseOf(path: string): Promise<string> {
  if (path === '-') return '.';
  return (await isFolder(path)) ? path : dirname(path);
}

const isFolder = (path: string): Promise<boolean> =>
  readdir(path).then(
    () => true,
    () => false,
  );

/** `prod.yaml`, `prod.vars.yaml`, and the same within `prod/`, where names are free. */
async function entriesOf(folder: string): Promise<readonly Entry[]> {
  const found = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const entries: Entry[] = [];
  for (const { name } of found.sort((a, b) => compareText(a.name, b.name))) {
    const match = manifest.exec(name);
    if (match !== null) entries.push(entry(match[1] ?? '', join(folder, name), match[2] !== undefined));
    else {
      const inner = await readdir(join(folder, name)).catch(() => []);
      for (const file of inner.sort(compareText)) {
        const kind = manifest.exec(file);
        if (kind !== null) entries.push(entry(name, join(folder, name, file), kind[2] !== undefined));
      }
    }
  }
  return entries;
}

const entry = (environment: string, file: string, isVars: boolean): Entry => ({ environment, file, isVars });
