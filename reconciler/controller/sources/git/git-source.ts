// A git repository as a source: follows a branch, a tag or a range of versions, checks signatures, writes checkouts, pushes changes.
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  type Checkout,
  type Source,
  type SourceChange,
  SourceError,
  type SourceRevision,
  sourceErrors,
} from '../source.ts';
import type { GitSettings } from '../source-schema.ts';
import { Checkouts } from '../files/checkouts.ts';
import { folderPath } from '../files/entry-path.ts';
import { limitsOf } from '../files/limits.ts';
import { limitedAction } from '../files/limited-action.ts';
import type { SourceContext } from '../source-context.ts';
import { chooseReference, isLowerVersion, wantedReference, type GitReference } from './choose-reference.ts';
import { gitEnvironment, type GitEnvironment } from './environment.ts';
import { createGitProgram } from './git-program.ts';
import { readGitUrl } from './git-url.ts';
import { Mirror, type FetchResult } from './mirror.ts';
import { pushChange } from './push-change.ts';
import { writeTree } from './read-tree.ts';
import { checkedRefName, isObjectId } from './ref-name.ts';
import { verifySignature } from './signatures.ts';
import { replaceWhole } from '../../../../server/lib/durable-files.ts';
import { ConcurrencyLimit } from '../../../../server/lib/shared/concurrency-limit.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

/** The last used commit, kept over restarts for `history: linear`. */
interface LastCommit {
  readonly commit: string;
  readonly ref: string;
  readonly url: string;
  /** Which references the source followed; absent in files of older versions. */
  readonly rule?: string;
}

interface Repository {
  readonly mirror: Mirror;
  readonly environment: GitEnvironment;
}

export function openGitSource(name: string, settings: GitSettings, context: SourceContext): Source {
  const url = readGitUrl(settings.url);
  const wanted = wantedReference(settings);
  const path = folderPath(settings.path);
  if (path === undefined)
    throw sourceErrors.refused(
      `source ${name}: the path ${JSON.stringify(settings.path)} does not lie in the repository`,
    );
  const limits = limitsOf(settings.limits);
  const folder = join(context.stateDir, 'sources', name);
  const home = join(folder, 'home');
  const usedFile = join(folder, 'used.json');
  const checkouts = new Checkouts(join(folder, 'checkouts'), [url.url, path]);
  const turns = new ConcurrencyLimit(1);
  const isLinear = settings.history === 'linear';
  const rule = JSON.stringify([wanted.by, wanted.value]);
  let last: { readonly object: string; readonly revision: SourceRevision } | undefined;
  /** The newest object, when it is larger than the limits: each look would fetch as many bytes again. */
  let tooLarge: { readonly object: string; readonly error: SourceError } | undefined;

  /** Reads credentials for each action, since they may be renewed at any time. */
  const open = async (): Promise<Repository> => {
    const environment = await gitEnvironment(url, settings.credentials, home, context.absolute);
    const git = createGitProgram({
      ...environment,
      shown: `source ${name} (${url.shown})`,
      folders: [resolve(folder)],
      ...(context.gitProgram === undefined ? {} : { program: context.gitProgram }),
    });
    return { mirror: new Mirror(join(folder, 'mirror.git'), git, url, limits, isLinear), environment };
  };
  const limited = limitedAction(`source ${name} (${url.shown})`, limits.timeoutMs, turns);
  const action = <T>(
    what: string,
    signal: AbortSignal | undefined,
    work: (opened: Repository, signal: AbortSignal) => Promise<T>,
  ): Promise<T> => limited(what, signal, async (limitedSignal) => work(await open(), limitedSignal));
  const describe = async (
    opened: Repository,
    fetched: FetchResult,
    chosen: GitReference,
    signal: AbortSignal,
  ): Promise<SourceRevision> => {
    const what = `source ${name}: ${chosen.shown} at ${fetched.commit.slice(0, 12)}`;
    const tagName = chosen.ref.startsWith('refs/tags/') ? chosen.shown : undefined;
    const keyring = { home, env: opened.environment.env, absolute: context.absolute, what };
    const verified =
      settings.verify === undefined
        ? undefined
        : await verifySignature(opened.mirror, fetched, tagName, settings.verify, keyring, signal);
    const { at, who, message } = await opened.mirror.describe(fetched.commit, signal);
    return {
      revision: fetched.commit,
      at,
      reference: chosen.shown,
      who,
      message,
      ...(verified === undefined ? {} : { verified }),
    };
  };
  const fill = (mirror: Mirror, commit: string, signal: AbortSignal): Promise<string> =>
    checkouts.make(commit, (dir) =>
      writeTree(mirror, { commit, path, what: `source ${name} at ${commit.slice(0, 12)}`, limits }, dir, signal),
    );

  return {
    name,
    kind: 'git',
    url: url.shown,

    check: (signal) =>
      action('the check', signal, async (opened, limited) => {
        const listing = await opened.mirror.list(wanted, limited);
        const chosen = chooseReference(wanted, listing, `source ${name} (${url.shown})`);
        // Signature keys may have changed, so only an unverified revision may come from the cache.
        if (
          last?.object === chosen.object &&
          settings.verify === undefined &&
          (await checkouts.find(last.revision.revision)) !== undefined
        )
          return last.revision;
        if (tooLarge?.object === chosen.object) throw tooLarge.error;
        const fetched = await opened.mirror.fetch(chosen, limited).catch((error: unknown) => {
          if (error instanceof SourceError && error.problem === 'limit' && !limited.aborted)
            tooLarge = { object: chosen.object, error };
          throw error;
        });
        const used = await readUsed(usedFile);
        const now: LastCommit = { commit: fetched.commit, ref: chosen.ref, url: url.url, rule };
        if (isLinear && used !== undefined) await refuseRewritten(opened.mirror, used, now, limited);
        const revision = await describe(opened, fetched, chosen, limited);
        await fill(opened.mirror, fetched.commit, limited);
        await writeUsed(usedFile, now);
        last = { object: fetched.tag ?? fetched.commit, revision };
        return revision;
      }),

    resolve: (reference, signal) =>
      action('the look-up', signal, async (opened, limited) => {
        const chosen = await findReference(opened.mirror, reference, `source ${name} (${url.shown})`, limited);
        const fetched = await opened.mirror.fetch(chosen, limited);
        const revision = await describe(opened, fetched, chosen, limited);
        await fill(opened.mirror, fetched.commit, limited);
        return revision;
      }),

    async checkout(revision, signal): Promise<Checkout> {
      if (!isObjectId(revision))
        throw sourceErrors.notFound(`source ${name}: ${JSON.stringify(revision)} is no commit`);
      const there = await checkouts.find(revision);
      if (there !== undefined) return { dir: there };
      return action('the checkout', signal, async (opened, limited) => {
        const { mirror } = opened;
        if (!(await mirror.has(revision, limited)))
          await mirror.fetch({ ref: revision, shown: revision.slice(0, 12) }, limited);
        const what = `source ${name}: ${revision.slice(0, 12)}`;
        const keyring = { home, env: opened.environment.env, absolute: context.absolute, what };
        // A tag's signature is only checked when the tag is resolved: the folder written then is the checkout of its commit.
        if (settings.verify !== undefined)
          await verifySignature(mirror, { commit: revision }, undefined, settings.verify, keyring, limited);
        return { dir: await fill(mirror, revision, limited) };
      });
    },

    authors: (revision, since, signal) =>
      action('the look for authors', signal, async (opened, limited) => {
        const { mirror } = opened;
        const written = await mirror.authors(revision, since, limited);
        if (settings.verify === undefined) return written;
        const what = `source ${name}: ${revision.slice(0, 12)}`;
        const keyring = { home, env: opened.environment.env, absolute: context.absolute, what };
        // The commit itself may be unsigned if a signed tag names it.
        const signed = await verifySignature(
          mirror,
          { commit: revision },
          undefined,
          settings.verify,
          keyring,
          limited,
        ).catch(() => last?.revision.verified);
        return signed?.signer === undefined ? written : [...written, signed.signer];
      }),

    push: (change: SourceChange, signal) =>
      action('the push', signal, async (opened, limited) => {
        const listing = await opened.mirror.list(wanted, limited);
        const followed = wanted.by === 'branch' ? wanted.value : listing.head?.slice('refs/heads/'.length);
        const request = {
          change,
          url,
          path,
          followed: wanted.by === 'branch' || wanted.by === 'default' ? followed : undefined,
          what: `source ${name} (${url.shown})`,
        };
        const commit = await pushChange(
          opened.mirror,
          request,
          settings.signingKeyFile === undefined ? undefined : context.absolute(settings.signingKeyFile),
          limited,
        );
        const { at, who, message } = await opened.mirror.describe(commit, limited);
        return {
          revision: commit,
          at,
          who,
          message,
          ...(change.branch === undefined ? {} : { reference: change.branch }),
        };
      }),

    keepOnly: (revisions) => turns.run(() => checkouts.keepOnly(revisions)),
  };
}

async function findReference(
  mirror: Mirror,
  reference: string,
  repository: string,
  signal: AbortSignal,
): Promise<GitReference> {
  if (isObjectId(reference)) return { ref: reference, shown: reference.slice(0, 12), object: reference };
  const name = checkedRefName('reference', reference);
  const { refs } = await mirror.list({ patterns: [`refs/heads/${name}`, `refs/tags/${name}`] }, signal);
  const found =
    refs.find(({ ref }) => ref === `refs/heads/${name}`) ?? refs.find(({ ref }) => ref === `refs/tags/${name}`);
  if (found === undefined) throw sourceErrors.notFound(`${repository} has no branch and no tag ${name}`);
  return { ref: found.ref, shown: name, object: found.object };
}

/** A branch must contain the last used commit, a tag must not move, and of versions none may be older than the last. */
async function refuseRewritten(mirror: Mirror, used: LastCommit, now: LastCommit, signal: AbortSignal): Promise<void> {
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

async function readUsed(file: string): Promise<LastCommit | undefined> {
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

async function writeUsed(file: string, used: LastCommit): Promise<void> {
  await makeFolder(dirname(file), 0o700);
  await replaceWhole(file, JSON.stringify(used), { isPrivate: true });
}
