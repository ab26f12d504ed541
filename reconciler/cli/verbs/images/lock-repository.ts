// The git repository of gantry.lock, for `gantry update --commit`: refuses what cannot be committed or pushed before an image is
// fetched, then commits only this file, on the current branch or a new one, with the user's git settings.
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { imageCommit } from '../../../controller/decide/image-commit.ts';
import { writeChangedTree, writeCommit, type RunGit } from '../../../controller/sources/git/commit-files.ts';
import { createGitProgram, type GitCall } from '../../../controller/sources/git/git-program.ts';
import { problemOfRefName } from '../../../controller/sources/git/ref-name.ts';
import { parsePins, pinsText, type Pins } from '../../../manifest/image-pins.ts';
import { CliError, usageError, commandError } from '../../errors/usage-error.ts';
import type { Context } from '../../session/context.ts';
import type { UpdateOptions } from './image-verbs.ts';
import { askGit, findPushTarget, type AskGit, type PushTarget } from './push-target.ts';

export interface PinDifference {
  readonly changed: readonly string[];
  readonly dropped: readonly string[];
}

export interface PinChange extends PinDifference {
  readonly before: Pins;
  readonly after: Pins;
}

export interface LockRepository {
  /** The pins of the newest commit. */
  readonly before: Pins;
  /** Commits, pushes if asked, and returns a summary. */
  commit(change: PinChange): Promise<string>;
}

/** The state of the repository before any change. */
interface PinRepository {
  readonly git: RunGit;
  readonly ask: AskGit;
  /** The file, for messages. */
  readonly path: string;
  readonly name: string;
  /** From the root of the repository. */
  readonly full: string;
  /** The newest commit; undefined in a repository without one. */
  readonly head: string | undefined;
  readonly branch: string;
  readonly isNew: boolean;
  readonly target: PushTarget | undefined;
}

export async function openLockRepository(context: Context<UpdateOptions>, path: string): Promise<LockRepository> {
  const { branch, push } = context.options;
  if (branch !== undefined) refuseBranchName(branch);
  const folder = await realpath(dirname(path)).catch((error: unknown) => {
    throw refusal(path, reasonOf(error), error);
  });
  const program = createGitProgram({ env: environment(context.io.env), shown: path, isOwn: true });
  const git = async (call: GitCall) =>
    program.run({ cwd: folder, ...call }, context.stop).catch((error: unknown) => {
      if (context.stop.aborted) throw error;
      throw commandError(reasonOf(error), error);
    });
  const ask = askGit(git);
  await refuseNoWorkTree(git, path, folder);
  if ((await lstat(path).catch(() => undefined))?.isSymbolicLink() === true)
    throw refusal(path, 'it is a link; name the file that it leads to with --lock-file');
  const name = basename(path);
  const head = await ask('rev-parse', '--verify', '--quiet', 'HEAD^{commit}');
  const current = await ask('symbolic-ref', '--quiet', '--short', 'HEAD');
  await refuseUnready(ask, path, name, branch === undefined);
  if (branch === undefined && current === undefined)
    throw refusal(path, 'no branch is checked out (HEAD is detached); name a new one with --branch NAME');
  if (branch !== undefined) await refuseTakenBranch(ask, path, branch, head);
  const target = branch ?? current ?? '';
  const place: PinRepository = {
    git,
    ask,
    path,
    name,
    full: `${(await ask('rev-parse', '--show-prefix')) ?? ''}${name}`,
    head,
    branch: target,
    isNew: branch !== undefined,
    target: push === true ? await findPushTarget(git, path, target, branch !== undefined) : undefined,
  };
  return { before: await pinsAt(place), commit: (change) => commit(place, change) };
}

/** The user's environment, without the variables of a git hook. */
function environment(env: Context['io']['env']): Record<string, string> {
  const local = /^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|COMMON_DIR|PREFIX|NAMESPACE)$/;
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !local.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

function refuseBranchName(branch: string): void {
  const problem = branch === 'HEAD' ? 'git reserves it' : problemOfRefName(branch);
  if (problem !== undefined) throw usageError(`--branch ${JSON.stringify(branch)} is not used: ${problem}`);
}

async function refuseNoWorkTree(git: RunGit, path: string, folder: string): Promise<void> {
  const { code, stdout, stderr } = await git({ args: ['rev-parse', '--is-inside-work-tree'], okCodes: [0, 128] });
  if (code === 0 && stdout.toString('utf8').trim() === 'true') return;
  const isNone = code === 0 || stderr.includes('not a git repository');
  throw refusal(path, isNone ? `${folder} is not in the working tree of a git repository` : stderr.trim());
}

async function refuseUnready(ask: AskGit, path: string, name: string, isCurrent: boolean): Promise<void> {
  for (const who of ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'])
    if ((await ask('var', who)) === undefined)
      throw refusal(path, 'git does not know who you are; set git config user.name and git config user.email');
  if ((await ask('check-ignore', '--', name)) !== undefined)
    throw refusal(path, 'a .gitignore excludes it; remove it from there');
  if (!isCurrent) return;
  for (const [ref, what] of [
    ['MERGE_HEAD', 'merge'],
    ['CHERRY_PICK_HEAD', 'cherry-pick'],
    ['REVERT_HEAD', 'revert'],
  ] as const)
    if ((await ask('rev-parse', '--verify', '--quiet', ref)) !== undefined)
      throw refusal(path, `a ${what} is not finished; finish it first, or use --branch NAME`);
}

async function refuseTakenBranch(ask: AskGit, path: string, branch: string, head: string | undefined): Promise<void> {
  if (head === undefined) throw refusal(path, 'the repository has no commit to begin the branch at; use --commit');
  const all = ((await ask('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/')) ?? '').split('\n');
  const taken = all.find((name) => name === branch || name.startsWith(`${branch}/`) || branch.startsWith(`${name}/`));
  if (taken === undefined) return;
  const clash = taken === branch ? '' : `, and git keeps no branch ${branch} beside it`;
  throw refusal(path, `the branch ${taken} exists${clash}; name another, or delete it (git branch -d ${taken})`);
}

/** Pins that cannot be read count as none: the commit replaces them. */
async function pinsAt({ git, full, head }: PinRepository): Promise<Pins> {
  if (head === undefined) return new Map();
  const { stdout, code } = await git({ args: ['cat-file', 'blob', `${head}:${full}`], okCodes: [0, 128] });
  try {
    return code === 0 ? parsePins(full, stdout.toString('utf8')) : new Map();
  } catch {
    return new Map();
  }
}

async function commit(place: PinRepository, change: PinChange): Promise<string> {
  const { branch, isNew, target, path } = place;
  const changed = change.changed.map((key) => [key, change.after.get(key) ?? ''] as const);
  const message = imageCommit(undefined, undefined, change.before, changed, change.dropped);
  const id = isNew ? await commitAside(place, message, pinsText(change.after)) : await commitHere(place, message);
  const done = `${id.slice(0, 12)} on ${branch}`;
  if (target === undefined) return `Committed ${done}`;
  try {
    await target.push(id);
  } catch (error) {
    throw commandError(
      `Committed ${done}, but did not push it: ${reasonOf(error)}\nPush it with: git push ${target.remote} ${branch}`,
      error,
    );
  }
  return `Committed ${done}, pushed to ${target.remote} (${path})`;
}

/** Commits only the file; other staged changes stay staged. */
async function commitHere({ git, ask, name }: PinRepository, message: string): Promise<string> {
  await git({ args: ['--literal-pathspecs', 'add', '--', name] });
  await git({ args: ['--literal-pathspecs', 'commit', '--quiet', '--only', '-F', '-', '--', name], input: message });
  return (await ask('rev-parse', 'HEAD')) ?? '';
}

/** Commits on top of the newest commit; the working tree stays. */
async function commitAside({ git, ask, full, head = '', branch, path }: PinRepository, message: string, text: string) {
  const scratch = (await ask('rev-parse', '--absolute-git-dir')) ?? '';
  const tree = await writeChangedTree(git, { base: head, files: { [full]: text }, scratch, what: path }).catch(
    (error: unknown) => {
      throw error instanceof CliError ? error : commandError(`Cannot commit ${reasonOf(error)}`, error);
    },
  );
  const signing = (await ask('config', '--type=bool', 'commit.gpgSign')) === 'true' ? [] : undefined;
  const id = await writeCommit(git, { base: head, tree, message, signing });
  // All zeros: the branch must not exist.
  await git({ args: ['update-ref', '-m', 'gantry update', `refs/heads/${branch}`, id, '0'.repeat(id.length)] });
  return id;
}

const refusal = (path: string, why: string, cause?: unknown): CliError =>
  commandError(`Cannot commit ${path}: ${why}`, cause);
