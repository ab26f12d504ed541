// File access for functions of the language: regular files up to a limit, with the paths that Terraform would see in the folder of the
// configuration.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { inFence } from '../../../text/fence.ts';
import { ConversionError } from '../values.ts';

export interface FileReader {
  /** Absolute; relative paths start here. */
  readonly cwd: string;
  readonly home: string;
  /** Throws ConversionError when there is no such file or it is too large. */
  read(path: string): Buffer;
  /** Throws ConversionError for a path that is not a file. */
  exists(path: string): boolean;
  /** Paths of all files below a folder, relative to it. Throws ConversionError when there is no such folder. */
  below(path: string): readonly string[];
}

/** Texts of configurations are smaller. */
const maxBytes = 16 * 1024 * 1024;
const maxFiles = 50_000;

export function filesFrom(folder: string): FileReader {
  const cwd = resolve(folder);
  return {
    cwd,
    home: homedir(),
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

/** Links are followed to files, and not into folders. */
function filesBelow(root: string): readonly string[] {
  const found: string[] = [];
  const walk = (folder: string, prefix: string): void => {
    for (const entry of failing(folder, () => readdirSync(folder, { withFileTypes: true }))) {
      const name = `${prefix}${entry.name}`;
      if (entry.isDirectory()) walk(join(folder, entry.name), `${name}/`);
      else if (entry.isFile() || isLinkToFile(join(folder, entry.name))) found.push(name);
      if (found.length > maxFiles) throw new ConversionError(`there are more than ${maxFiles} files in ${root}`);
    }
  };
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() === true) walk(root, '');
  return found;
}

const isLinkToFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
