// File access for functions of the language: regular files up to a limit, with the paths that Terraform would see in the folder of the
// configuration.
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inFence } from '../../../text/fence.ts';
import { ConversionError } from '../values.ts';
import { homeFolder } from '../../../text/home-folder.ts';

export interface FileReader {
  /** Absolute; relative paths start here. */
  readonly cwd: string;
  readonly home: string;
  /** Throws ConversionError when there is no such file or it is too large. */
  read(path: string): Buffer;
  /** Throws ConversionError for a path that is not a file. */
  exists(path: string): boolean;
  /** Paths of all files below a folder, relative to it, none without such a folder. Throws ConversionError for too many. */
  below(path: string): readonly string[];
}

/** Texts of configurations are smaller. */
const maxBytes = 16 * 1024 * 1024;
const maxFiles = 50_000;

export function filesFrom(folder: string): FileReader {
  const cwd = resolve(folder);
  return {
    cwd,
    home: homeFolder(process.env),
    read(path) {
      const { size } = regular(cwd, path);
      if (size > maxBytes) throw new ConversionError(`${path} has ${size} bytes; ${maxBytes} may be read`);
      return failing(path, () => readFileSync(inFence(resolve(cwd, path))));
    },
    exists(path) {
      const full = failing(path, () => inFence(resolve(cwd, path)));
      if (statSync(full, { throwIfNoEntry: false }) === undefined) return false;
      regular(cwd, path);
      return true;
    },
    below: (path) => filesBelow(failing(path, () => inFence(resolve(cwd, path)))),
  };
}

function regular(cwd: string, path: string): { readonly size: number } {
  const found = failing(path, () => statSync(inFence(resolve(cwd, path))));
  if (!found.isFile()) throw new ConversionError(`${path} is no regular file`);
  return found;
}

function failing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConversionError(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${message}`);
  }
}

/** Follows links, except to a folder that it is in. */
function filesBelow(root: string): readonly string[] {
  const found: string[] = [];
  const walk = (folder: string, prefix: string, outer: readonly string[]): void => {
    const real = failing(folder, () => realpathSync(inFence(folder)));
    if (outer.includes(real)) return;
    for (const entry of failing(folder, () => readdirSync(folder, { withFileTypes: true }))) {
      const [name, path] = [`${prefix}${entry.name}`, join(folder, entry.name)];
      const kind = entry.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : entry;
      if (kind?.isDirectory() === true) walk(path, `${name}/`, [...outer, real]);
      else if (kind?.isFile() === true) found.push(name);
      if (found.length > maxFiles) throw new ConversionError(`there are more than ${maxFiles} files in ${root}`);
    }
  };
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() === true) walk(root, '', []);
  return found;
}
