// Writes the files of a revision below a new folder: names are checked first, nothing is overwritten, links may only lead inside.
import { open, realpath, symlink } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { syncDirectory, syncFile } from '../../../../server/lib/durable-files.ts';
import { mapAtMost } from '../../../../server/lib/shared/concurrency-limit.ts';
import { hasCode } from '../../../../server/lib/shared/error-code.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';
import { type SourceError, sourceErrors } from '../source.ts';
import { problemOfPath } from './entry-path.ts';
import { Budget, type TreeLimits } from './limits.ts';

const maxTarget = 4096;
/** The file system writes these together. */
const syncsAtOnce = 16;

export class TreeWriter {
  readonly #dir: string;
  readonly #what: string;
  readonly #budget: Budget;
  readonly #links = new Map<string, string>();
  readonly #folders = new Set<string>();
  readonly #files: string[] = [];

  /** `dir` exists and is empty. `what` names the tree in messages. */
  constructor(dir: string, what: string, limits: TreeLimits) {
    this.#dir = dir;
    this.#what = what;
    this.#budget = new Budget(limits, what);
  }

  async addFolder(path: string): Promise<void> {
    this.#check(path);
    this.#budget.addFile(0);
    await this.#makeFolder(path);
  }

  async addFile(path: string, contents: Buffer | AsyncIterable<Buffer>, isExecutable: boolean): Promise<void> {
    this.#check(path);
    await this.#makeFolder(dirname(path));
    this.#budget.addFile(0);
    // Exclusive: a second entry of the same name is a broken tree.
    const file = await open(join(this.#dir, path), 'wx', isExecutable ? 0o755 : 0o644).catch((error: unknown) => {
      throw this.#explain(path, 'its name occurs twice, or a file stands where its folder should be', error);
    });
    try {
      for await (const chunk of Buffer.isBuffer(contents) ? [contents] : contents) {
        this.#budget.addBytes(chunk.length);
        // `write` may write a part only, as on a disk that is getting full.
        await file.writeFile(chunk);
      }
    } finally {
      await file.close();
    }
    this.#files.push(path);
  }

  /** Links are made at the end, so that no file is written through one. */
  addLink(path: string, target: string): void {
    this.#check(path);
    this.#budget.addFile(target.length);
    if (target === '' || target.length > maxTarget || target.includes('\0'))
      throw this.#refuse(path, 'the target of the link is not valid');
    if (target.startsWith('/'))
      throw this.#refuse(path, `the link leads to the absolute path ${JSON.stringify(target)}`);
    if (this.#links.has(path)) throw this.#refuse(path, 'its name occurs twice');
    this.#links.set(path, target);
  }

  /** Makes the links and follows each to its end. The files are on the disk when it resolves. */
  async finish(): Promise<void> {
    // After a power cut a folder could hold empty files, which declare nothing.
    await mapAtMost(syncsAtOnce, this.#files, (path) => syncFile(join(this.#dir, path)));
    for (const [path, target] of this.#links) {
      await this.#makeFolder(dirname(path));
      await symlink(target, join(this.#dir, path)).catch((error: unknown) => {
        throw this.#explain(path, 'its name occurs twice', error);
      });
    }
    const root = await realpath(this.#dir);
    for (const [path, target] of this.#links) {
      const end = await realpath(join(this.#dir, path)).catch((error: unknown) => {
        throw this.#refuse(path, `the link to ${JSON.stringify(target)} leads nowhere inside of the tree`, error);
      });
      if (end !== root && !end.startsWith(`${root}${sep}`))
        throw this.#refuse(path, `the link leads out of the tree, to ${JSON.stringify(target)}`);
      // A link to a folder above itself would make an infinite tree.
      if (`${root}${sep}${path}`.startsWith(`${end}${sep}`))
        throw this.#refuse(path, 'the link leads to a folder that holds it');
    }
    // The names, too: a tree that lost some of its files declares less than its revision.
    const folders = new Set([...this.#folders].flatMap(withAncestors));
    await mapAtMost(syncsAtOnce, [...folders, '.'], (path) => syncDirectory(join(this.#dir, path)));
  }

  #check(path: string): void {
    const problem = problemOfPath(path);
    if (problem !== undefined) throw this.#refuse(path, problem);
  }

  async #makeFolder(path: string): Promise<void> {
    if (path === '.' || this.#folders.has(path)) return;
    await makeFolder(join(this.#dir, path), 0o755).catch((error: unknown) => {
      throw this.#explain(path, 'a file stands where a folder should be', error);
    });
    this.#folders.add(path);
  }

  /** Only these errors come from the tree; a full disk is no reason to refuse it. */
  #explain(path: string, why: string, error: unknown): unknown {
    return hasCode(error, 'EEXIST', 'ENOTDIR', 'EISDIR') ? this.#refuse(path, why, error) : error;
  }

  #refuse(path: string, why: string, cause?: unknown): SourceError {
    return sourceErrors.refused(`${this.#what} holds ${JSON.stringify(path)}, which is refused: ${why}`, {
      cause,
    });
  }
}

/** A path of folders, `a/b/c`, with `a/b` and `a`. */
const withAncestors = (path: string): readonly string[] =>
  path.split('/').map((_part, index, parts) => parts.slice(0, index + 1).join('/'));
