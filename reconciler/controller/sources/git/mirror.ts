// The bare repository of a source: lists references, fetches one, describes a commit.
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { printable } from '../../../core/text/terminal-text.ts';
import { DamagedCopyError, SourceError, sourceErrors } from '../source.ts';
import type { TreeLimits } from '../files/limits.ts';
import type { GitReference, ReferenceRule, readListing } from './choose-reference.ts';
import { readListing as parseListing } from './choose-reference.ts';
import type { GitAnswer, GitCall, GitProgram } from './git-program.ts';
import type { GitUrl } from './git-url.ts';
import { isObjectId } from './ref-name.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

export interface Commit {
  readonly id: string;
  readonly at: string;
  readonly who: string;
  readonly message: string;
}

export interface FetchResult {
  readonly commit: string;
  /** The object of an annotated tag. */
  readonly tag?: string;
}

const incoming = 'refs/gantry/incoming';
/** Commits that are fetched for their authors at first; few changes have more. */
const usualDepth = 200;
/** What git takes as no limit. */
const wholeDepth = 2_147_483_647;

export class Mirror {
  readonly dir: string;
  readonly #git: GitProgram;
  readonly #url: GitUrl;
  readonly #limits: TreeLimits;
  /** All history, or the newest commit only. */
  readonly #isDeep: boolean;

  constructor(dir: string, git: GitProgram, url: GitUrl, limits: TreeLimits, isDeep: boolean) {
    this.dir = dir;
    this.#git = git;
    this.#url = url;
    this.#limits = limits;
    this.#isDeep = isDeep;
  }

  git(call: GitCall, signal?: AbortSignal): Promise<GitAnswer> {
    return this.#git.run({ ...call, cwd: this.dir }, signal);
  }

  async list(wanted: Pick<ReferenceRule, 'patterns'>, signal?: AbortSignal): Promise<ReturnType<typeof readListing>> {
    await this.#open(signal);
    const args = ['ls-remote', '--symref', '--', this.#url.url, ...wanted.patterns];
    const { stdout } = await this.git({ args }, signal);
    return parseListing(stdout.toString('utf8'));
  }

  /** Fetches a reference or a commit. Discards a copy that has grown too large or is damaged, and fetches once more. */
  fetch(reference: Pick<GitReference, 'ref' | 'shown'>, signal?: AbortSignal): Promise<FetchResult> {
    return this.#healing(() => this.#fetchOnce(reference, signal), signal);
  }

  async #healing<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const isFresh = (await sizeOf(this.dir)) < 256 * 1024;
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      const isFinal = isFresh || (error instanceof SourceError && error.problem !== 'limit');
      if (isFinal && !(error instanceof DamagedCopyError)) throw error;
      // Old packs count towards the limit, and a killed process may have left locks and partial packs.
      await rm(this.dir, { recursive: true, force: true });
      return work();
    }
  }

  async has(commit: string, signal?: AbortSignal): Promise<boolean> {
    await this.#open(signal);
    const { code } = await this.git({ args: ['cat-file', '-e', `${commit}^{commit}`], okCodes: [0, 1, 128] }, signal);
    return code === 0;
  }

  async describe(commit: string, signal?: AbortSignal): Promise<Commit> {
    const format = '--format=%H%x00%cI%x00%<(200,trunc)%an%x00%<(300,trunc)%s';
    // Not `show`: it diffs the whole tree even when it prints no diff, and a hostile tree can be endless.
    const args = ['-c', 'log.showSignature=false', 'log', '-1', format, commit, '--'];
    const { stdout } = await this.git({ args, maxBytes: 64 * 1024, cuts: true }, signal);
    const [id = '', at = '', who = '', message = ''] = stdout.toString('utf8').split('\0');
    return { id, at, who: plain(who), message: plain(message) };
  }

  /** Names and addresses in the commits after `since`; without `since`, only those of the commit. */
  async authors(commit: string, since: string | undefined, signal?: AbortSignal): Promise<readonly string[]> {
    if (since !== undefined && !this.#isDeep) {
      await this.#deepen(commit, usualDepth, signal);
      // More commits come, or the history was rewritten: no author may stay unknown.
      if (!(await this.isAncestor(since, commit, signal))) await this.#deepen(commit, wholeDepth, signal);
    }
    const isThere = since !== undefined && (await this.has(since, signal));
    const come = await this.#people(
      isThere ? [`${since}..${commit}`] : since === undefined ? ['-1', commit] : [commit],
      signal,
    );
    return come.length > 0 ? come : this.#people(['-1', commit], signal);
  }

  async #people(which: readonly string[], signal: AbortSignal | undefined): Promise<readonly string[]> {
    const format = '--format=%an%x00%ae%x00%cn%x00%ce';
    const { stdout } = await this.git(
      { args: ['-c', 'log.showSignature=false', 'log', format, ...which, '--'] },
      signal,
    );
    return [...new Set(stdout.toString('utf8').split(/[\0\n]/))].filter((word) => word !== '');
  }

  #deepen(commit: string, depth: number, signal: AbortSignal | undefined): Promise<void> {
    const work = () => this.#fetchBounded([`--depth=${depth}`], commit, commit.slice(0, 12), signal);
    return this.#healing(work, signal);
  }

  /** Whether `older` is `newer` or one of its ancestors. */
  async isAncestor(older: string, newer: string, signal?: AbortSignal): Promise<boolean> {
    if (!(await this.has(older, signal))) return false;
    const { code } = await this.git({ args: ['merge-base', '--is-ancestor', older, newer], okCodes: [0, 1] }, signal);
    return code === 0;
  }

  async #fetchOnce(
    { ref, shown }: Pick<GitReference, 'ref' | 'shown'>,
    signal: AbortSignal | undefined,
  ): Promise<FetchResult> {
    const depth = this.#isDeep ? [] : ['--depth=1'];
    await this.#fetchBounded(['--force', ...depth], `+${ref}:${incoming}`, shown, signal);
    const object = await this.#parse(incoming, signal);
    const commit = await this.#parse(`${incoming}^{commit}`, signal).catch(() => {
      throw sourceErrors.refused(`${this.#url.shown}: ${shown} does not name a commit`);
    });
    return object === commit ? { commit } : { commit, tag: object };
  }

  /** Ends git as soon as the copy is larger than the limits allow. */
  async #fetchBounded(
    flags: readonly string[],
    what: string,
    shown: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await this.#open(signal);
    const quiet = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--quiet'];
    const watch = async (): Promise<void> => {
      const { bytes } = this.#limits;
      if ((await sizeOf(this.dir)) > bytes)
        throw sourceErrors.limit(
          `${this.#url.shown} at ${shown} holds more than ${bytes} bytes; raise limits.size, or move large files out of the repository: git fetches a commit whole, whatever path says`,
        );
    };
    const args = ['fetch', ...quiet, ...flags, '--', this.#url.url, what];
    try {
      await this.git({ args, watch }, signal);
    } finally {
      await this.#deleteLeftovers();
    }
    await watch();
  }

  /** git leaves what it wrote of a pack or object when it fails or is killed: on a full disk that would stay full. */
  async #deleteLeftovers(): Promise<void> {
    const objects = join(this.dir, 'objects');
    const paths = await readdir(objects, { recursive: true }).catch(() => []);
    const partial = paths.filter((path) => basename(path).startsWith('tmp_'));
    await Promise.all(partial.map((path) => rm(join(objects, path), { recursive: true, force: true })));
  }

  async #parse(expression: string, signal: AbortSignal | undefined): Promise<string> {
    const { stdout } = await this.git({ args: ['rev-parse', '--verify', '--end-of-options', expression] }, signal);
    const id = stdout.toString('utf8').trim();
    if (!isObjectId(id)) throw sourceErrors.refused(`${this.#url.shown}: ${expression} is no object`);
    return id;
  }

  async #open(signal: AbortSignal | undefined): Promise<void> {
    const isThere = await stat(join(this.dir, 'HEAD')).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    await makeFolder(this.dir, 0o700);
    await this.#git.run({ args: ['init', '--quiet', '--bare', '--template=', this.dir] }, signal);
  }
}

/** Bytes of the files below a folder; ignores files that are deleted during the walk. */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let sum = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += await sizeOf(path);
    else sum += (await stat(path).catch(() => ({ size: 0 }))).size;
  }
  return sum;
}

/** Foreign text cannot steer a terminal, nor reorder what stands beside it on the page. */
const plain = (text: string): string => printable(text).trim();
