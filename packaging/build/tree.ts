// The files of a package as data, and writing them: fixed modes and times, so that the same files make the same package.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** One path of a package: text, a file of this machine, a link, or an empty folder. */
export type Entry =
  | { readonly text: string | Buffer; readonly mode: number }
  | { readonly from: string; readonly mode: number }
  | { readonly link: string }
  | { readonly folder: true };

/** By path, without a slash at its beginning. */
export type Tree = ReadonlyMap<string, Entry>;

/** All files below a folder of this machine, at `to`, without its links. Scripts of a shell are executable. */
export function folderEntries(
  from: string,
  to: string,
  isWanted = (_path: string): boolean => true,
): readonly (readonly [string, Entry])[] {
  return readdirSync(from, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => isWanted(path.slice(from.length + 1)))
    .toSorted()
    .map((path) => [`${to}${path.slice(from.length)}`, fileEntry(path)] as const);
}

export const fileEntry = (path: string): Entry => ({ from: path, mode: isScript(path) ? 0o755 : 0o644 });

/** Scripts of a shell; those of Node.js run with the one of their package or of their user. */
function isScript(path: string): boolean {
  const [file, head] = [openSync(path, 'r'), Buffer.alloc(20)];
  try {
    readSync(file, head);
    return /^#!(?:\/bin\/|\/usr\/bin\/env (?:ba)?sh)/.test(head.toString('latin1'));
  } finally {
    closeSync(file);
  }
}

/** Beside what is there. */
export function placeTree(tree: Tree, directory: string): void {
  for (const [path, entry] of tree) {
    const target = join(directory, path);
    mkdirSync(dirname(target), { recursive: true });
    if ('link' in entry) symlinkSync(entry.link, target);
    else if ('folder' in entry) mkdirSync(target, { recursive: true });
    else {
      if ('text' in entry) writeFileSync(target, entry.text);
      else copyFileSync(entry.from, target);
      chmodSync(target, entry.mode);
    }
  }
}

export function writeTree(tree: Tree, directory: string, epoch: number): void {
  placeTree(tree, directory);
  settle(directory, epoch);
}

/** Hands the tree over in a directory that is gone afterwards. */
export function withTree(tree: Tree, epoch: number, use: (directory: string) => void): void {
  const stage = mkdtempSync(join(tmpdir(), 'gantry-package-'));
  try {
    writeTree(tree, stage, epoch);
    use(stage);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Folders last: writing into them changes their time. */
function settle(directory: string, epoch: number): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) settle(path, epoch);
    else if (entry.isSymbolicLink()) lutimesSync(path, epoch, epoch);
    else utimesSync(path, epoch, epoch);
  }
  chmodSync(directory, 0o755);
  utimesSync(directory, epoch, epoch);
}
