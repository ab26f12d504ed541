// The git commit of the manifests. It is only recorded, so errors of git never fail a run.
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { foldersUp } from './place.ts';

const limitMs = 5000;

/** `1f0c2a9…`, with `+` at its end when the files or others beside them differ from it. undefined: no work tree, or no git. */
export async function commitOf(
  paths: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const file = paths.find((path) => path !== '-');
  if (file === undefined || signal.aborted) return undefined;
  const folder = dirname(file);
  if (!mayHaveWorkTree(folder, env)) return undefined;
  // An untrusted repository must not start programs.
  const quiet = ['-C', folder, '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];
  const git = async (...args: readonly string[]): Promise<string> => {
    const options = { env: { ...env, GIT_OPTIONAL_LOCKS: '0' }, timeout: limitMs, maxBuffer: 16 * 1024 * 1024, signal };
    return (await promisify(execFile)('git', [...quiet, ...args], options)).stdout;
  };
  try {
    const [commit, changes] = await Promise.all([
      git('rev-parse', '--verify', 'HEAD'),
      git('status', '--porcelain', '--untracked-files=normal', '--', '.'),
    ]);
    return `${commit.trim()}${changes.trim() === '' ? '' : '+'}`;
  } catch {
    return undefined;
  }
}

/** Most folders without a work tree are recognized without starting git. */
function mayHaveWorkTree(folder: string, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['GIT_DIR'] !== undefined) return true;
  try {
    return foldersUp(realpathSync(folder)).some((at) => existsSync(join(at, '.git')));
  } catch {
    return true;
  }
}
