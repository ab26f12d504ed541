// Where a branch is pushed: the remote and the branch there, by the settings of the user.
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError } from '../../errors/usage-error.ts';
import type { RunGit } from '../../../controller/sources/git/commit-files.ts';

/** The answer of git without the last line feed; undefined when git answers that there is none. */
export type AskGit = (...args: readonly string[]) => Promise<string | undefined>;

export const askGit =
  (git: RunGit): AskGit =>
  async (...args) => {
    const { code, stdout } = await git({ args, okCodes: [0, 1, 128] });
    return code === 0 ? stdout.toString('utf8').replace(/\n$/, '') : undefined;
  };

export interface PushTarget {
  readonly remote: string;
  push(commit: string): Promise<void>;
}

/** Refuses a repository without a remote, and a new branch that the remote has. */
export async function findPushTarget(git: RunGit, path: string, branch: string, isNew: boolean): Promise<PushTarget> {
  const ask = askGit(git);
  const remote = await remoteOf(ask, branch);
  if (remote === undefined)
    throw new CliError(
      `Cannot push ${path}: the repository has no remote that git would push ${branch} to; add one with git remote add origin URL`,
      exitCodes.error,
    );
  const ref = (isNew ? undefined : await upstream(ask, branch, remote)) ?? `refs/heads/${branch}`;
  const { stdout } = await git({ args: ['ls-remote', '--', remote, ref] });
  if (isNew && stdout.length > 0)
    throw new CliError(`Cannot push ${path}: ${remote} has a branch ${branch} already; name another`, exitCodes.error);
  // A new branch is made there only while it does not exist.
  const lease = isNew ? [`--force-with-lease=${ref}:`] : [];
  return {
    remote,
    push: async (commit) => void (await git({ args: ['push', '--quiet', ...lease, '--', remote, `${commit}:${ref}`] })),
  };
}

/** As git chooses it: what the settings name, else the only remote, else origin. */
async function remoteOf(ask: AskGit, branch: string): Promise<string | undefined> {
  for (const key of [`branch.${branch}.pushRemote`, 'remote.pushDefault', `branch.${branch}.remote`]) {
    const named = await ask('config', key);
    if (named !== undefined && named !== '') return named;
  }
  const all = ((await ask('remote')) ?? '').split('\n').filter((name) => name !== '');
  return all.length === 1 ? all[0] : all.find((name) => name === 'origin');
}

/** The branch that this one follows there. */
async function upstream(ask: AskGit, branch: string, remote: string): Promise<string | undefined> {
  if ((await ask('config', `branch.${branch}.remote`)) !== remote) return undefined;
  return ask('config', `branch.${branch}.merge`);
}
