// Commits changed files on top of a revision and pushes the commit, without a working tree.
import { type SourceChange, sourceErrors } from '../source.ts';
import { writeChangedTree, writeCommit } from './commit-files.ts';
import type { GitCall } from './git-program.ts';
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
  if (branch === undefined) throw sourceErrors.refused(`${what} follows a tag: name the branch to push to`);
  checkedRefName('branch', branch);
  if (!isObjectId(change.base)) throw sourceErrors.refused(`${what}: ${JSON.stringify(change.base)} is no commit`);
  if (!(await mirror.has(change.base, signal)))
    await mirror.fetch({ ref: change.base, shown: change.base.slice(0, 12) }, signal);
  const git = (call: GitCall) => mirror.git(call, signal);
  const files = withinPath(change.files, request.path);
  const tree = await writeChangedTree(git, { base: change.base, files, scratch: mirror.dir, what });
  const before = await branchTip(mirror, branch, signal);
  if (branch === followed && before !== change.base) {
    throw sourceErrors.conflict(
      `${what}: ${branch} has moved on from ${change.base.slice(0, 12)}; read the source again and repeat`,
    );
  }
  const same =
    before === undefined
      ? undefined
      : await sameCommit(mirror, { tip: before, branch }, { base: change.base, tree }, signal);
  if (same !== undefined) return same;
  const { base, message, author } = change;
  const commit = await writeCommit(git, { base, tree, message, author, signing: withKey(signingKey) });
  // A lease: the branch is replaced only if it has not changed since it was read.
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

const withinPath = (files: SourceChange['files'], path: string): SourceChange['files'] =>
  Object.fromEntries(
    Object.entries(files).map(([name, contents]) => [path === '' ? name : `${path}/${name}`, contents]),
  );

const withKey = (signingKey: string | undefined): readonly string[] | undefined =>
  signingKey === undefined
    ? undefined
    : ['-c', 'gpg.format=ssh', '-c', 'gpg.ssh.program=ssh-keygen', '-c', `user.signingKey=${signingKey}`];

async function branchTip(mirror: Mirror, branch: string, signal: AbortSignal | undefined): Promise<string | undefined> {
  const { refs } = await mirror.list({ patterns: [`refs/heads/${branch}`] }, signal);
  return refs.find(({ ref }) => ref === `refs/heads/${branch}`)?.object;
}

/** The tip of the branch if it already is this change on this base, so that nothing is pushed again. */
async function sameCommit(
  mirror: Mirror,
  { tip, branch }: { readonly tip: string; readonly branch: string },
  { base, tree }: { readonly base: string; readonly tree: string },
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
