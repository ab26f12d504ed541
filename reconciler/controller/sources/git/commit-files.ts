// Writes a tree with changed files and a commit of it, without a working tree and with a temporary index.
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceErrors } from '../source.ts';
import { problemOfPath } from '../files/entry-path.ts';
import type { GitAnswer, GitCall } from './git-program.ts';

/** Runs git in the repository. */
export type RunGit = (call: GitCall) => Promise<GitAnswer>;

export interface TreeChange {
  /** The commit whose tree is changed. */
  readonly base: string;
  /** New contents by path from the root of the repository, with slashes. */
  readonly files: Readonly<Record<string, string>>;
  /** A folder for the temporary index. */
  readonly scratch: string;
  /** The repository, for messages. */
  readonly what: string;
}

/** The id of the changed tree. */
export async function writeChangedTree(git: RunGit, change: TreeChange): Promise<string> {
  const { base, files, scratch, what } = change;
  const index = join(scratch, `index-${randomBytes(6).toString('hex')}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    await git({ args: ['read-tree', base], env });
    const lines: string[] = [];
    for (const [path, contents] of Object.entries(files)) {
      const problem = problemOfPath(path);
      if (problem !== undefined)
        throw sourceErrors.refused(`${what}: the file ${JSON.stringify(path)} is not written: ${problem}`);
      const { stdout } = await git({ args: ['hash-object', '-w', '--stdin'], input: contents });
      lines.push(`${await modeOf(git, base, path, what)} ${stdout.toString('utf8').trim()}\t${path}\0`);
    }
    await git({ args: ['update-index', '-z', '--index-info'], input: lines.join(''), env });
    const { stdout } = await git({ args: ['write-tree'], env });
    return stdout.toString('utf8').trim();
  } finally {
    await rm(index, { force: true });
  }
}

/** A file keeps its mode; a link or a folder is not replaced by a file. */
async function modeOf(git: RunGit, base: string, path: string, what: string): Promise<string> {
  const { stdout } = await git({ args: ['ls-tree', '-z', '--full-tree', base, '--', `:(literal)${path}`] });
  const mode = stdout.toString('utf8').slice(0, 6);
  if (mode === '') return '100644';
  if (mode !== '100644' && mode !== '100755')
    throw sourceErrors.refused(`${what}: ${JSON.stringify(path)} is no file and is not replaced`);
  return mode;
}

export interface CommitOf {
  /** The only parent. */
  readonly base: string;
  readonly tree: string;
  readonly message: string;
  /** Author and committer; default: from git's configuration. */
  readonly author?: { readonly name: string; readonly email: string };
  /** Signs the commit, with these settings of git. */
  readonly signing?: readonly string[] | undefined;
}

/** Returns the id of the new commit, which no reference names yet. */
export async function writeCommit(git: RunGit, commit: CommitOf): Promise<string> {
  const { base, tree, message, author, signing } = commit;
  const args = [
    ...(signing ?? []),
    'commit-tree',
    ...(signing === undefined ? [] : ['-S']),
    '-p',
    base,
    '-F',
    '-',
    tree,
  ];
  const { stdout } = await git({ args, input: message, ...(author === undefined ? {} : { env: identity(author) }) });
  return stdout.toString('utf8').trim();
}

const identity = ({ name, email }: { readonly name: string; readonly email: string }): Record<string, string> => ({
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: email,
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: email,
});
