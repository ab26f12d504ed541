// Walks a path inside a tree part by part, never leaving it: links are read as text and restart at the tree's own root.
import { codeOf } from '../../lib/shared/error-code.ts';
import { failWith } from './file-error.ts';
import type { FileRoot } from './driver.ts';
import { below, linkText, holdEntry, type HeldEntry } from './held-entry.ts';

export const maxPathBytes = 4096;
const maxLinks = 40;
/** Max steps of one walk, links included; also bounds the descriptors that it holds. */
const maxSteps = 2048;
const maxDepth = 512;

export interface PathTarget {
  readonly parent: HeldEntry;
  /** Name in `parent`; empty for the root of the tree. */
  readonly name: Buffer;
  /** Undefined: `parent` has no such name. */
  readonly entry: HeldEntry | undefined;
  close(): void;
}

interface Level {
  readonly held: HeldEntry;
  readonly name: Buffer;
}

/** `followLast`: also follows a link at the end. Throws errors with the codes of open(2). */
export function resolvePath(root: FileRoot, path: Buffer, options: { readonly followLast: boolean }): PathTarget {
  checkPath(path);
  const levels: Level[] = [{ held: openRoot(root), name: Buffer.alloc(0) }];
  try {
    return walk(root, levels, path, options.followLast);
  } catch (error) {
    closeDownTo(levels, 0);
    throw error;
  }
}

function checkPath(path: Buffer): void {
  if (path.length === 0) failWith('EINVAL', 'the path is empty');
  if (path.includes(0)) failWith('EINVAL', 'the path has a NUL byte in it');
  if (path.length > maxPathBytes) failWith('ENAMETOOLONG', `the path is longer than ${maxPathBytes} bytes`);
}

function openRoot(root: FileRoot): HeldEntry {
  const held = holdEntry(Buffer.from(root.path));
  // Checked after opening: if it is true now, the path led to the right tree before.
  if (root.isCurrent() && held.stats.isDirectory()) return held;
  held.close();
  return failWith('ESRCH');
}

function walk(root: FileRoot, levels: Level[], path: Buffer, followLast: boolean): PathTarget {
  const todo = partsOf(path);
  let links = 0;
  for (let steps = 0; ; steps++) {
    if (steps > maxSteps || levels.length > maxDepth) failWith('ENAMETOOLONG', 'the path has too many parts');
    const part = todo.pop();
    if (part === undefined) return found(levels);
    if (isDotDot(part)) {
      closeDownTo(levels, Math.max(1, levels.length - 1));
      continue;
    }
    const dir = top(levels).held;
    if (!dir.stats.isDirectory()) failWith('ENOTDIR');
    const entry = openIfThere(below(dir, part));
    if (entry === undefined) {
      if (todo.length > 0) failWith('ENOENT');
      return found(levels, part);
    }
    if (!entry.stats.isSymbolicLink() || (todo.length === 0 && !followLast)) {
      levels.push({ held: entry, name: part });
      continue;
    }
    entry.close();
    if (root.refuseLinks === true) failWith('ELOOP', 'symbolic links are not followed here');
    links++;
    if (links > maxLinks) failWith('ELOOP');
    const text = textOfLink(dir, part);
    if (text === undefined) todo.push(part);
    else {
      if (text[0] === slash) closeDownTo(levels, 1);
      todo.push(...partsOf(text));
    }
  }
}

function found(levels: readonly Level[], missing?: Buffer): PathTarget {
  const close = (): void => closeDownTo([...levels], 0);
  const last = top(levels);
  if (missing !== undefined) return { parent: last.held, name: missing, entry: undefined, close };
  const parent = levels.at(-2) ?? last;
  return { parent: parent.held, name: last.name, entry: last.held, close };
}

const slash = 0x2f;

/** Last part first; without empty parts and dots. */
function partsOf(path: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from <= path.length;) {
    const at = path.indexOf(slash, from);
    const end = at < 0 ? path.length : at;
    const part = path.subarray(from, end);
    if (part.length > 0 && !(part.length === 1 && part[0] === dot)) parts.push(part);
    from = end + 1;
  }
  return parts.toReversed();
}

const dot = 0x2e;
const isDotDot = (part: Buffer): boolean => part.length === 2 && part[0] === dot && part[1] === dot;

function openIfThere(path: Buffer): HeldEntry | undefined {
  try {
    return holdEntry(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Undefined: it is no longer a link. Links of /proc can exist and yet lead nowhere for the host. */
function textOfLink(dir: HeldEntry, name: Buffer): Buffer | undefined {
  try {
    return linkText(dir, name);
  } catch (error) {
    if (codeOf(error) === 'EINVAL') return undefined;
    throw error;
  }
}

function top(levels: readonly Level[]): Level {
  const level = levels.at(-1);
  if (level === undefined) throw new Error('the root of a tree cannot be left');
  return level;
}

function closeDownTo(levels: Level[], count: number): void {
  while (levels.length > count) levels.pop()?.held.close();
}
