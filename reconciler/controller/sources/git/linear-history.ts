// `history: linear`: the last used commit, kept over restarts, and what may not follow it.
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceWhole } from '../../../../server/lib/durable-files.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';
import { sourceErrors } from '../source.ts';
import { isLowerVersion } from './choose-reference.ts';
import type { Mirror } from './mirror.ts';

export interface LastCommit {
  readonly commit: string;
  readonly ref: string;
  readonly url: string;
  /** Which references the source followed; absent in files of older versions. */
  readonly rule?: string;
}

/** A branch must contain the last used commit, a tag must not move, and of versions none may be older than the last. */
export async function refuseRewritten(
  mirror: Mirror,
  used: LastCommit,
  now: LastCommit,
  signal: AbortSignal,
): Promise<void> {
  if (used.url !== now.url || used.commit === now.commit) return;
  // The configuration names another branch or tag now.
  if (used.ref !== now.ref && used.rule !== now.rule) return;
  const how = await rewriteOf(mirror, used, now, signal);
  if (how === undefined) return;
  const shown = now.ref.replace(/^refs\/(heads|tags)\//, '');
  const why = `${shown} ${how} (now ${now.commit.slice(0, 12)}, before ${used.commit.slice(0, 12)})`;
  const what = now.ref.startsWith('refs/tags/') ? 'tag' : 'branch';
  throw sourceErrors.refused(
    `${why}, and history is linear; restore the ${what}, or write \`history: any\` to follow it`,
  );
}

/** The server chooses the default branch and which tags it lists, so both can hide that a reference goes back. */
async function rewriteOf(
  mirror: Mirror,
  used: LastCommit,
  now: LastCommit,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!now.ref.startsWith('refs/tags/')) {
    if (await mirror.isAncestor(used.commit, now.commit, signal)) return undefined;
    return used.ref === now.ref
      ? 'was rewritten: it no longer holds that commit'
      : 'is the default branch now, and does not hold that commit';
  }
  if (used.ref === now.ref) return 'was moved';
  if (isLowerVersion(now.ref, used.ref)) return 'is a lower version than the one that was used before';
  const isOlder = (await mirror.has(used.commit, signal)) && (await mirror.isAncestor(now.commit, used.commit, signal));
  return isOlder ? 'is a tag of an older commit' : undefined;
}

export async function readUsed(file: string): Promise<LastCommit | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<LastCommit>;
    const { commit, ref, url, rule } = value;
    return typeof commit === 'string' && typeof ref === 'string' && typeof url === 'string'
      ? { commit, ref, url, ...(typeof rule === 'string' ? { rule } : {}) }
      : undefined;
  } catch (error) {
    throw sourceErrors.refused(
      `${file}, which says which revision was used before, cannot be read; delete it to begin again`,
      { cause: error },
    );
  }
}

export async function writeUsed(file: string, used: LastCommit): Promise<void> {
  await makeFolder(dirname(file), 0o700);
  await replaceWhole(file, JSON.stringify(used), { isPrivate: true });
}
