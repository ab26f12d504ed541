// Writes the files of a commit to a folder. Reads objects directly, so that no attribute, filter or hook of the repository takes effect.
import { SourceError, sourceErrors } from '../source.ts';
import { Budget, type TreeLimits } from '../files/limits.ts';
import { TreeWriter } from '../files/tree-writer.ts';
import type { Mirror } from './mirror.ts';

interface Entry {
  readonly mode: string;
  readonly object: string;
  readonly path: string;
}

export interface TreeRequest {
  readonly commit: string;
  /** Folder of the tree; empty: all of it. */
  readonly path: string;
  /** Names the tree in messages. */
  readonly what: string;
  readonly limits: TreeLimits;
}

export async function writeTree(
  mirror: Mirror,
  request: TreeRequest,
  dir: string,
  signal?: AbortSignal,
): Promise<void> {
  const entries = await listTree(mirror, request, signal);
  const writer = new TreeWriter(dir, request.what, request.limits);
  const blobs = new Blobs(mirror, request, signal);
  for (const entry of entries) {
    if (entry.mode === '160000') {
      throw sourceErrors.refused(
        `${request.what} holds the submodule ${JSON.stringify(entry.path)}: submodules are not fetched; copy the files, or narrow the source with path`,
      );
    }
  }
  await blobs.each(entries, async (entry, contents) => {
    if (entry.mode === '120000') writer.addLink(entry.path, contents.toString('utf8'));
    else await writer.addFile(entry.path, contents, entry.mode === '100755');
  });
  await writer.finish();
}

/** Every file below the path. Stops as soon as a limit is passed, since a small repository can hold an endless tree. */
async function listTree(mirror: Mirror, request: TreeRequest, signal: AbortSignal | undefined): Promise<Entry[]> {
  const { commit, path, what, limits } = request;
  const budget = new Budget(limits, what);
  const entries: Entry[] = [];
  let rest = Buffer.alloc(0);
  const onOutput = (chunk: Buffer): void => {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
      const line = rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
      const match = /^([0-7]{6}) (blob|commit) ([0-9a-f]{40,64}) +([0-9]+|-)\t([^]*)$/.exec(line);
      if (match === null) throw sourceErrors.refused(`${what} holds an entry that cannot be read`);
      const [, mode = '', , object = '', size = '', name = ''] = match;
      budget.addFile(size === '-' ? 0 : Number(size));
      entries.push({ mode, object, path: name });
    }
  };
  const maxBytes = limits.files * 1200;
  await mirror
    .git({ args: ['ls-tree', '-r', '-l', '-z', '--full-tree', `${commit}:${path}`], onOutput, maxBytes }, signal)
    .catch((error: unknown) => {
      throw error instanceof SourceError && error.problem === 'not-found'
        ? sourceErrors.notFound(`${what} has no folder ${JSON.stringify(path)}`, { cause: error })
        : error;
    });
  return entries;
}

/** Reads the contents of many objects with one git process. */
class Blobs {
  readonly #mirror: Mirror;
  readonly #request: TreeRequest;
  readonly #signal: AbortSignal | undefined;

  constructor(mirror: Mirror, request: TreeRequest, signal: AbortSignal | undefined) {
    this.#mirror = mirror;
    this.#request = request;
    this.#signal = signal;
  }

  /** Reads in groups, so that memory holds only a few megabytes unless one file is larger. */
  async each(entries: readonly Entry[], take: (entry: Entry, contents: Buffer) => Promise<void>): Promise<void> {
    for (let from = 0; from < entries.length; from += 64) {
      const group = entries.slice(from, from + 64);
      const contents = await this.#read(group);
      for (const [at, entry] of group.entries()) await take(entry, contents[at] ?? Buffer.alloc(0));
    }
  }

  async #read(group: readonly Entry[]): Promise<readonly Buffer[]> {
    const input = group.map(({ object }) => `${object}\n`).join('');
    const maxBytes = this.#request.limits.bytes + group.length * 100;
    const { stdout } = await this.#mirror.git({ args: ['cat-file', '--batch'], input, maxBytes }, this.#signal);
    const found: Buffer[] = [];
    let at = 0;
    for (const { object, path } of group) {
      const end = stdout.indexOf(10, at);
      const [id, type, size] = stdout.subarray(at, end).toString('utf8').split(' ');
      if (end < 0 || id !== object || type !== 'blob')
        throw sourceErrors.refused(`${this.#request.what}: the contents of ${JSON.stringify(path)} are missing`);
      const length = Number(size);
      found.push(stdout.subarray(end + 1, end + 1 + length));
      at = end + 1 + length + 1;
    }
    return found;
  }
}
