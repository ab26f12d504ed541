// A folder of this machine as a source: each state of its files is a revision, copied so that a set never reads half an edit.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { type Source, type SourceRevision, sourceErrors } from './source.ts';
import type { DirectorySettings } from './source-schema.ts';
import type { SourceContext } from './source-context.ts';
import { Checkouts } from './files/checkouts.ts';
import { Budget, limitsOf } from './files/limits.ts';
import { SteadyReader } from './files/steady-tree.ts';
import { TreeWriter } from './files/tree-writer.ts';
import { ConcurrencyLimit } from '../../../server/lib/shared/concurrency-limit.ts';

interface SourceEntry {
  readonly path: string;
  readonly kind: 'file' | 'link';
  readonly mode: number;
  /** Changes when the file does. */
  readonly mark: string;
}

export function openDirectorySource(name: string, settings: DirectorySettings, context: SourceContext): Source {
  const root = context.absolute(settings.path);
  const limits = limitsOf(settings.limits);
  const what = `source ${name} (${root})`;
  const checkouts = new Checkouts(join(context.stateDir, 'sources', name, 'checkouts'), [root]);
  const turns = new ConcurrencyLimit(1);
  const reader = new SteadyReader<SourceEntry>({ what, checkouts, now: context.now, marksOf });

  const scan = async (signal: AbortSignal | undefined): Promise<readonly SourceEntry[]> => {
    const budget = new Budget(limits, what);
    const found: SourceEntry[] = [];
    const onFile = (entry: SourceEntry, bytes: number): void => {
      budget.addFile(bytes);
      found.push(entry);
    };
    await walk({ root, what, onFile }, '', signal);
    return found.sort((a, b) => (a.path < b.path ? -1 : 1));
  };
  const read = (signal: AbortSignal | undefined): Promise<SourceRevision> =>
    reader.read({
      list: () => scan(signal),
      copy: (found, dir) => copy(root, found, new TreeWriter(dir, what, limits)),
    });

  return {
    name,
    kind: 'directory',
    url: root,
    check: (signal) => turns.run(() => read(signal)),
    async checkout(revision) {
      const dir = await checkouts.find(revision);
      if (dir === undefined)
        throw sourceErrors.notFound(
          `${what} has no copy of ${revision} any more; only states of the folder that were kept can be used`,
        );
      return { dir };
    },
    keepOnly: (revisions) => turns.run(() => checkouts.keepOnly(revisions)),
  };
}

const marksOf = (found: readonly SourceEntry[]): string => found.map(({ path, mark }) => `${path}\0${mark}`).join('\n');

interface Tree {
  readonly root: string;
  /** Names the source in messages. */
  readonly what: string;
  readonly onFile: (entry: SourceEntry, bytes: number) => void;
}

async function walk(tree: Tree, below: string, signal: AbortSignal | undefined): Promise<void> {
  const { root, what } = tree;
  signal?.throwIfAborted();
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch((error: unknown) => {
    throw sourceErrors.notFound(`${what} cannot be read: ${reasonOf(error)}`, { cause: error });
  });
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.name === '.git') continue;
    if (entry.isDirectory()) {
      await walk(tree, path, signal);
      continue;
    }
    if (!entry.isFile() && !entry.isSymbolicLink())
      throw sourceErrors.refused(
        `${what} holds ${JSON.stringify(path)}, which is neither a file nor a folder nor a link`,
      );
    const facts = await lstat(join(root, path), { bigint: true });
    const mark = `${facts.ino} ${facts.size} ${facts.mtimeNs} ${facts.ctimeNs} ${facts.mode}`;
    tree.onFile({ path, kind: entry.isFile() ? 'file' : 'link', mode: Number(facts.mode), mark }, Number(facts.size));
  }
}

/** The revision: a digest of names, modes and contents. */
async function copy(root: string, found: readonly SourceEntry[], writer: TreeWriter): Promise<string> {
  const digest = createHash('sha256');
  for (const { path, kind, mode } of found) {
    const isExecutable = (mode & 0o100) !== 0;
    digest.update(`${kind} ${isExecutable ? 'x' : '-'} ${path}\0`);
    if (kind === 'link') {
      const target = await readlink(join(root, path));
      digest.update(target);
      writer.addLink(path, target);
    } else {
      const contents = createHash('sha256');
      await writer.addFile(path, hashed(join(root, path), contents), isExecutable);
      digest.update(contents.digest());
    }
  }
  await writer.finish();
  return `sha256:${digest.digest('hex')}`;
}

/** Opens the file at the first read: an error of an unread stream would crash the process. */
async function* hashed(file: string, hash: Hash): AsyncIterable<Buffer> {
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    yield chunk;
  }
}
