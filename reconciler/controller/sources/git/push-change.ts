// Commits changed files on top of a revision and pushes the commit, without a working tree.
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SourceError, type SourceChange } from '../source.ts';
import { problemOfPath } from '../files/entry-path.ts';
import type { GitUrl } from './git-url.ts';
import type { Mirror } from './mirror.ts';
import { checkedRefName, isObjectId } from './ref-name.ts';

export interface PushRequest {
  readonly change: SourceChange;
  readonly url: GitUrl;
  /** `path` of the source. */
  readonly path: string;
  /** The branch that the source follows, if it follows one. */
  readonly followed: string | undefined;
  readonly what: string;
}

export async function pushChange(
  mirror: Mirror,
  request: PushRequest,
  signingKey: string | undefined,
  signal?: AbortSignal,
): Promise<string> {
  const { change, what, followed } = request;
  const branch = change.branch ?? followed;
  if (branch === undefined) throw new SourceError('refused', `${what} follows a tag: name the branch to push to`);
  checkedRefName('branch', branch);
  if (!isObjectId(change.base))
    throw new SourceError('refused', `${what}: ${JSON.stringify(change.base)} is no commit`);
  if (!(await mirror.has(change.base, signal)))
    await mirror.fetch({ ref: change.base, shown: change.base.slice(0, 12) }, signal);
  const tree = await writeChangedTree(mirror, request, signal);
  const before = await branchTip(mirror, branch, signal);
  if (branch === followed && before !== change.base) {
    throw new SourceError(
      'conflict',
      `${what}: ${branch} has moved on from ${change.base.slice(0, 12)}; read the source again and repeat`,
    );
  }
  const same = before === undefined ? undefined : await sameCommit(mirror, before, branch, change.base, tree, signal);
  if (same !== undefined) return same;
  const commit = await writeCommit(mirror, change, tree, signingKey, signal);
  // A lease: the branch is replaced only when it is still what was read.
  const ref = `refs/heads/${branch}`;
  const args = [
    'push',
    '--quiet',
    `--force-with-lease=${ref}:${before ?? ''}`,
    '--',
    request.url.url,
    `${commit}:${ref}`,
  ];
  await mirror.git({ args }, signal);
  return commit;
}

async function writeChangedTree(
  mirror: Mirror,
  { change, path, what }: PushRequest,
  signal: AbortSignal | undefined,
): Promise<string> {
  const index = join(mirror.dir, `index-${randomBytes(6).toString('hex')}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    await mirror.git({ args: ['read-tree', change.base], env }, signal);
    const lines: string[] = [];
    for (const [name, contents] of Object.entries(change.files)) {
      const problem = problemOfPath(name);
      if (problem !== undefined)
        throw new SourceError('refused', `${what}: the file ${JSON.stringify(name)} is not written: ${problem}`);
      const full = path === '' ? name : `${path}/${name}`;
      const { stdout } = await mirror.git({ args: ['hash-object', '-w', '--stdin'], input: contents }, signal);
      lines.push(
        `${await modeOf(mirror, change.base, full, what, signal)} ${stdout.toString('utf8').trim()}\t${full}\0`,
      );
    }
    await mirror.git({ args: ['update-index', '-z', '--index-info'], input: lines.join(''), env }, signal);
    const { stdout } = await mirror.git({ args: ['write-tree'], env }, signal);
    return stdout.toString('utf8').trim();
  } finally {
    await rm(index, { force: true });
  }
}

/** A file keeps its mode; a link or a folder is not replaced by a file. */
async function modeOf(
  mirror: Mirror,
  base: string,
  path: string,
  what: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { stdout } = await mirror.git(
    { args: ['ls-tree', '-z', '--full-tree', base, '--', `:(literal)${path}`] },
    signal,
  );
  const mode = stdout.toString('utf8').slice(0, 6);
  if (mode === '') return '100644';
  if (mode !== '100644' && mode !== '100755')
    throw new SourceError('refused', `${what}: ${JSON.stringify(path)} is no file and is not replaced`);
  return mode;
}

async function branchTip(mirror: Mirror, branch: string, signal: AbortSignal | undefined): Promise<string | undefined> {
  const { refs } = await mirror.list({ patterns: [`refs/heads/${branch}`] }, signal);
  return refs.find(({ ref }) => ref === `refs/heads/${branch}`)?.object;
}

/** The tip of the branch when it is this very change on this very base: nothing is pushed again. */
async function sameCommit(
  mirror: Mirror,
  tip: string,
  branch: string,
  base: string,
  tree: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (!(await mirror.has(tip, signal))) await mirror.fetch({ ref: `refs/heads/${branch}`, shown: branch }, signal);
  const { stdout, code } = await mirror.git(
    { args: ['cat-file', 'commit', tip], maxBytes: 64 * 1024, cuts: true, okCodes: [0, 128] },
    signal,
  );
  const [head = ''] = stdout.toString('utf8').split('\n\n');
  const parents = [...head.matchAll(/^parent (.+)$/gm)].map(([, id]) => id);
  const isSame = code === 0 && head.startsWith(`tree ${tree}\n`) && parents.length === 1 && parents[0] === base;
  const isUnchanged = code === 0 && tip === base && head.startsWith(`tree ${tree}\n`);
  return isSame || isUnchanged ? tip : undefined;
}

async function writeCommit(
  mirror: Mirror,
  change: SourceChange,
  tree: string,
  signingKey: string | undefined,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { name, email } = change.author;
  const env = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
  const signing =
    signingKey === undefined
      ? []
      : ['-c', 'gpg.format=ssh', '-c', 'gpg.ssh.program=ssh-keygen', '-c', `user.signingKey=${signingKey}`];
  const args = [
    ...signing,
    'commit-tree',
    ...(signingKey === undefined ? [] : ['-S']),
    '-p',
    change.base,
    '-F',
    '-',
    tree,
  ];
  const { stdout } = await mirror.git({ args, env, input: change.message }, signal);
  return stdout.toString('utf8').trim();
}
