// Chooses the remote and the remote branch to push to, from the user's git settings.
import { commandError } from '../../errors/usage-error.ts';
import type { RunGit } from '../../../controller/sources/git/commit-files.ts';

/** Git's output without the last line feed; undefined when git reports that there is none. */
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
    throw commandError(
      `Cannot push ${path}: the repository has no remote that git would push ${branch} to; add one with git remote add origin URL`,
    );
  const ref = (isNew ? undefined : await upstream(ask, branch, remote)) ?? `refs/heads/${branch}`;
  const { stdout } = await git({ args: ['ls-remote', '--', remote, ref] });
  if (isNew && stdout.length > 0)
    throw commandError(`Cannot push ${path}: ${remote} has a branch ${branch} already; name another`);
  // An empty lease: the push fails if the branch exists by then.
  const lease = isNew ? [`--force-with-lease=${ref}:`] : [];
  return {
    remote,
    push: async (commit) => void (await git({ args: ['push', '--quiet', ...lease, '--', remote, `${commit}:${ref}`] })),
  };
}

/** Chooses as git does: the configured remote, else the only one, else origin. */
async function remoteOf(ask: AskGit, branch: string): Promise<string | undefined> {
  for (const key of [`branch.${branch}.pushRemote`, 'remote.pushDefault', `branch.${branch}.remote`]) {
    const named = await ask('config', key);
    if (named !== undefined && named !== '') return named;
  }
  const all = ((await ask('remote')) ?? '').split('\n').filter((name) => name !== '');
  return all.length === 1 ? all[0] : all.find((name) => name === 'origin');
}

async function upstream(ask: AskGit, branch: string, remote: string): Promise<string | undefined> {
  if ((await ask('config', `branch.${branch}.remote`)) !== remote) return undefined;
  return ask('config', `branch.${branch}.merge`);
}
