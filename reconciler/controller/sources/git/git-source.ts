// A git repository as a source: follows a branch, a tag or a range of versions, checks signatures, writes checkouts, pushes changes.
import { join, resolve } from 'node:path';
import {
  type Checkout,
  type Source,
  type SourceChange,
  SourceError,
  type SourceRevision,
  type Verification,
  sourceErrors,
} from '../source.ts';
import type { GitSettings } from '../source-schema.ts';
import { Checkouts } from '../files/checkouts.ts';
import { folderPath } from '../files/entry-path.ts';
import { limitsOf } from '../files/limits.ts';
import { limitedAction, type LimitedAction } from '../files/limited-action.ts';
import type { SourceContext } from '../source-context.ts';
import { chooseReference, wantedReference, type GitReference } from './choose-reference.ts';
import { gitEnvironment } from './environment.ts';
import { createGitProgram } from './git-program.ts';
import { readGitUrl } from './git-url.ts';
import { readUsed, refuseRewritten, writeUsed, type LastCommit } from './linear-history.ts';
import { Mirror, type FetchResult } from './mirror.ts';
import { pushChange } from './push-change.ts';
import { writeTree } from './read-tree.ts';
import { checkedRefName, isObjectId } from './ref-name.ts';
import { verifySignature } from './signatures.ts';
import { ConcurrencyLimit } from '../../../../server/lib/shared/concurrency-limit.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

/** The repository during an action, which `signal` ends. */
interface Repository {
  readonly mirror: Mirror;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export class GitSource implements Source {
  readonly name: string;
  readonly kind = 'git';
  readonly url: string;
  readonly #settings: GitSettings;
  readonly #context: SourceContext;
  readonly #address: ReturnType<typeof readGitUrl>;
  readonly #wanted: ReturnType<typeof wantedReference>;
  /** Below the repository's root. */
  readonly #path: string;
  readonly #limits: ReturnType<typeof limitsOf>;
  readonly #folder: string;
  readonly #checkouts: Checkouts;
  readonly #turns = new ConcurrencyLimit(1);
  readonly #limited: LimitedAction;
  /** For people. */
  readonly #label: string;
  #last: { readonly object: string; readonly revision: SourceRevision } | undefined;
  /** The newest object, when it is larger than the limits: each look would fetch as many bytes again. */
  #tooLarge: { readonly object: string; readonly error: SourceError } | undefined;

  /** Throws SourceError refused for a path outside the repository. */
  constructor(name: string, settings: GitSettings, context: SourceContext) {
    const path = folderPath(settings.path);
    if (path === undefined)
      throw sourceErrors.refused(
        `source ${name}: the path ${JSON.stringify(settings.path)} does not lie in the repository`,
      );
    this.name = name;
    this.#settings = settings;
    this.#context = context;
    this.#path = path;
    this.#address = readGitUrl(settings.url);
    this.url = this.#address.shown;
    this.#wanted = wantedReference(settings);
    this.#limits = limitsOf(settings.limits);
    this.#folder = join(context.stateDir, 'sources', name);
    this.#checkouts = new Checkouts(join(this.#folder, 'checkouts'), [this.#address.url, path]);
    this.#label = `source ${name} (${this.url})`;
    this.#limited = limitedAction(this.#label, this.#limits.timeoutMs, this.#turns);
  }

  check(signal?: AbortSignal): Promise<SourceRevision> {
    return this.#action('the check', signal, async (repository) => {
      const listing = await repository.mirror.list(this.#wanted, repository.signal);
      const chosen = chooseReference(this.#wanted, listing, this.#label);
      const known = await this.#known(chosen);
      if (known !== undefined) return known;
      const fetched = await this.#fetch(repository, chosen);
      const used = await readUsed(this.#usedFile);
      const rule = JSON.stringify([this.#wanted.by, this.#wanted.value]);
      const now: LastCommit = { commit: fetched.commit, ref: chosen.ref, url: this.#address.url, rule };
      if (this.#isLinear && used !== undefined) await refuseRewritten(repository.mirror, used, now, repository.signal);
      const revision = await this.#describe(repository, fetched, chosen);
      await this.#fill(repository, fetched.commit);
      await writeUsed(this.#usedFile, now);
      this.#last = { object: fetched.tag ?? fetched.commit, revision };
      return revision;
    });
  }

  resolve(reference: string, signal?: AbortSignal): Promise<SourceRevision> {
    return this.#action('the look-up', signal, async (repository) => {
      const chosen = await findReference(repository, reference, this.#label);
      const fetched = await repository.mirror.fetch(chosen, repository.signal);
      const revision = await this.#describe(repository, fetched, chosen);
      await this.#fill(repository, fetched.commit);
      return revision;
    });
  }

  async checkout(revision: string, signal?: AbortSignal): Promise<Checkout> {
    if (!isObjectId(revision))
      throw sourceErrors.notFound(`source ${this.name}: ${JSON.stringify(revision)} is no commit`);
    const there = await this.#checkouts.find(revision);
    if (there !== undefined) return { dir: there };
    return this.#action('the checkout', signal, async (repository) => {
      const { mirror, signal: limited } = repository;
      if (!(await mirror.has(revision, limited)))
        await mirror.fetch({ ref: revision, shown: revision.slice(0, 12) }, limited);
      // A tag's signature is only checked when the tag is resolved: the folder written then is the checkout of its commit.
      await this.#verify(repository, { commit: revision }, revision.slice(0, 12));
      return { dir: await this.#fill(repository, revision) };
    });
  }

  authors(revision: string, since: string | undefined, signal?: AbortSignal): Promise<readonly string[]> {
    return this.#action('the look for authors', signal, async (repository) => {
      const written = await repository.mirror.authors(revision, since, repository.signal);
      // The commit itself may be unsigned if a signed tag names it.
      const signed = await this.#verify(repository, { commit: revision }, revision.slice(0, 12)).catch(
        () => this.#last?.revision.verified,
      );
      return signed?.signer === undefined ? written : [...written, signed.signer];
    });
  }

  push(change: SourceChange, signal?: AbortSignal): Promise<SourceRevision> {
    return this.#action('the push', signal, async ({ mirror, signal: limited }) => {
      const { by, value } = this.#wanted;
      const listing = await mirror.list(this.#wanted, limited);
      const followed = by === 'branch' ? value : listing.head?.slice('refs/heads/'.length);
      const request = {
        change,
        url: this.#address,
        path: this.#path,
        followed: by === 'branch' || by === 'default' ? followed : undefined,
        what: this.#label,
      };
      const { signingKeyFile } = this.#settings;
      const key = signingKeyFile === undefined ? undefined : this.#context.absolute(signingKeyFile);
      const commit = await pushChange(mirror, request, key, limited);
      const { at, who, message } = await mirror.describe(commit, limited);
      const reference = change.branch === undefined ? {} : { reference: change.branch };
      return { revision: commit, at, who, message, ...reference };
    });
  }

  keepOnly(revisions: ReadonlySet<string>): Promise<void> {
    return this.#turns.run(() => this.#checkouts.keepOnly(revisions));
  }

  /** Reads credentials for each action, since they may be renewed at any time. */
  #action<T>(what: string, signal: AbortSignal | undefined, work: (repository: Repository) => Promise<T>): Promise<T> {
    return this.#limited(what, signal, async (limited) => {
      const environment = await gitEnvironment(
        this.#address,
        this.#settings.credentials,
        this.#home,
        this.#context.absolute,
      );
      const { gitProgram } = this.#context;
      const git = createGitProgram({
        ...environment,
        shown: this.#label,
        folders: [resolve(this.#folder)],
        ...withoutUndefined({ program: gitProgram }),
      });
      const mirror = new Mirror(join(this.#folder, 'mirror.git'), git, this.#address, this.#limits, this.#isLinear);
      return work({ mirror, env: environment.env, signal: limited });
    });
  }

  /** The revision that the last check chose, if it is there. Signature keys may have changed, so only an unverified one may be. Throws the
   *  error of an object that was too large. */
  async #known(chosen: GitReference): Promise<SourceRevision | undefined> {
    const last = this.#last;
    if (
      last?.object === chosen.object &&
      this.#settings.verify === undefined &&
      (await this.#checkouts.find(last.revision.revision)) !== undefined
    )
      return last.revision;
    if (this.#tooLarge?.object === chosen.object) throw this.#tooLarge.error;
    return undefined;
  }

  #fetch({ mirror, signal }: Repository, chosen: GitReference): Promise<FetchResult> {
    return mirror.fetch(chosen, signal).catch((error: unknown) => {
      if (error instanceof SourceError && error.problem === 'limit' && !signal.aborted)
        this.#tooLarge = { object: chosen.object, error };
      throw error;
    });
  }

  async #describe(repository: Repository, fetched: FetchResult, chosen: GitReference): Promise<SourceRevision> {
    const { commit } = fetched;
    const tag = chosen.ref.startsWith('refs/tags/') ? chosen.shown : undefined;
    const verified = await this.#verify(repository, fetched, `${chosen.shown} at ${commit.slice(0, 12)}`, tag);
    const { at, who, message } = await repository.mirror.describe(commit, repository.signal);
    const reference = chosen.shown;
    return { revision: commit, at, reference, who, message, ...withoutUndefined({ verified }) };
  }

  /** Undefined: the settings ask for no signature. Throws SourceError unverified. */
  async #verify(
    { mirror, env, signal }: Repository,
    fetched: FetchResult,
    shown: string,
    tag?: string,
  ): Promise<Verification | undefined> {
    const { verify } = this.#settings;
    if (verify === undefined) return undefined;
    const keyring = { home: this.#home, env, absolute: this.#context.absolute, what: `source ${this.name}: ${shown}` };
    return verifySignature(mirror, fetched, tag, verify, keyring, signal);
  }

  #fill({ mirror, signal }: Repository, commit: string): Promise<string> {
    const what = `source ${this.name} at ${commit.slice(0, 12)}`;
    return this.#checkouts.make(commit, (dir) =>
      writeTree(mirror, { commit, path: this.#path, what, limits: this.#limits }, dir, signal),
    );
  }

  get #home(): string {
    return join(this.#folder, 'home');
  }

  get #usedFile(): string {
    return join(this.#folder, 'used.json');
  }

  get #isLinear(): boolean {
    return this.#settings.history === 'linear';
  }
}

async function findReference({ mirror, signal }: Repository, reference: string, label: string): Promise<GitReference> {
  if (isObjectId(reference)) return { ref: reference, shown: reference.slice(0, 12), object: reference };
  const name = checkedRefName('reference', reference);
  const { refs } = await mirror.list({ patterns: [`refs/heads/${name}`, `refs/tags/${name}`] }, signal);
  const found =
    refs.find(({ ref }) => ref === `refs/heads/${name}`) ?? refs.find(({ ref }) => ref === `refs/tags/${name}`);
  if (found === undefined) throw sourceErrors.notFound(`${label} has no branch and no tag ${name}`);
  return { ref: found.ref, shown: name, object: found.object };
}
