// Stores the state of a set over restarts and changes it.
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { standardKept } from '../config/config.ts';
import { ControllerError } from '../controller.ts';
import { sealedState, type DigestSeal, type KnownRevision, type SetState } from '../decide/set-state.ts';
import { short } from '../decide/short-revision.ts';
import { readState, StateFile, undone } from './state-file.ts';

const empty: SetState = { earlier: [], hosts: {}, given: {} };

export interface StoredSetOptions {
  /** How many earlier revisions are kept. */
  readonly max?: number | undefined;
  readonly seal?: DigestSeal;
  /** Fires when this controller is no longer the active one: what was read before is not written afterwards. */
  readonly term?: (() => AbortSignal) | undefined;
}

export class StoredSet {
  readonly #set: string;
  readonly #file: string;
  readonly #store: StateFile;
  readonly #max: number;
  readonly #seal: DigestSeal | undefined;
  readonly #term: (() => AbortSignal) | undefined;
  #readIn: AbortSignal | undefined;
  #state = empty;
  #isOutdated = false;
  #isForeign = false;

  /** `seal`: without it the digests stay as they are stored. */
  constructor(stateDir: string, set: string, { max = standardKept, seal, term }: StoredSetOptions = {}) {
    this.#max = max;
    this.#seal = seal;
    this.#term = term;
    this.#set = set;
    this.#file = join(stateDir, 'sets', set, 'state.json');
    this.#store = new StateFile(this.#file);
  }

  /** Reads the state, again when another process may have written it. Returns whether it has changed. */
  async load(): Promise<boolean> {
    await this.#store.flush();
    this.#readIn = this.#term?.();
    const before = this.#state;
    const found = { ...empty, ...((await readState(this.#file)) as Partial<SetState> | undefined) };
    const { state, isForeign } =
      this.#seal === undefined ? { state: found, isForeign: false } : sealedState(found, this.#seal);
    this.#state = state;
    this.#isForeign = isForeign;
    this.#isOutdated = !isDeepStrictEqual(found, state);
    return !isDeepStrictEqual(before, this.#state);
  }

  get state(): SetState {
    return this.#state;
  }

  /** Another key sealed its digests. */
  get isForeign(): boolean {
    return this.#isForeign;
  }

  /** Replaces what `load` read when its digests are not sealed. */
  async renew(): Promise<void> {
    if (this.#isOutdated) await this.change({});
    this.#isOutdated = false;
  }

  /** The revision that hosts have or get. */
  get wanted(): string | undefined {
    return this.#state.pin?.revision ?? this.#state.current?.revision;
  }

  /** Revisions whose files must stay. */
  get revisions(): readonly string[] {
    const { current, earlier, pin, hosts, given } = this.#state;
    const known = [current, pin, ...earlier, ...Object.values(hosts)];
    return [...new Set([...known.flatMap((one) => one?.revision ?? []), ...Object.values(given)])];
  }

  /** The revision that a failed rollout goes back to: the last one that succeeded, or in older states the one before. */
  get lastGood(): KnownRevision | undefined {
    const { earlier } = this.#state;
    return earlier.find(({ isGood }) => isGood === true) ?? earlier[0];
  }

  /** The revision that this one replaces. */
  before(revision: string): string | undefined {
    const { current, earlier } = this.#state;
    return revision === current?.revision ? earlier[0]?.revision : current?.revision;
  }

  /** The revisions that the set can go back to, newest first. */
  get known(): readonly string[] {
    const { current, earlier } = this.#state;
    return [...(current === undefined ? [] : [current]), ...earlier].map(({ revision }) => revision);
  }

  /** The only known revision that begins with `start`. Throws when there is none, or more than one. */
  named(start: string): string {
    const { known } = this;
    const [found, ...others] = known.filter((revision) => revision.startsWith(start));
    if (found !== undefined && others.length === 0) return found;
    const list = known.slice(0, 10).map(short).join(', ');
    throw new ControllerError(
      'not-found',
      `the set ${this.#set} has ${found === undefined ? 'no revision' : 'several revisions'} ${start}: it has ${list === '' ? 'none' : list}`,
    );
  }

  /** The revision that the host was given last; `isInPart`: it may have all of it, some, or nothing yet. */
  revisionOf(host: string): { readonly revision: string | undefined; readonly isInPart: boolean } {
    const { given, hosts } = this.#state;
    const applied = hosts[host]?.revision;
    const revision = given[host] ?? applied;
    return { revision, isInPart: revision !== applied };
  }

  /** Stores, before the first step on these hosts (`flush`), that they get the revision, so that they continue with it after a crash. */
  async noteGiven(hosts: readonly string[], revision: string): Promise<void> {
    if (hosts.every((host) => this.#state.given[host] === revision)) return;
    const news = Object.fromEntries(hosts.map((host) => [host, revision]));
    await this.change({ given: { ...this.#state.given, ...news } });
  }

  /** A change that cannot be stored does not count. */
  async change(part: Partial<SetState>): Promise<void> {
    const term = this.#term?.();
    term?.throwIfAborted();
    if (term !== this.#readIn) throw new Error('another controller was active meanwhile: the state is read again');
    const before = this.#state;
    this.#state = { ...before, ...part };
    await this.#store.write(this.#state).catch((error: unknown) => {
      this.#state = undone(this.#state, before, part);
      throw error;
    });
  }

  /** Makes a revision the current one. */
  async advance(next: KnownRevision): Promise<void> {
    const { current, earlier } = this.#state;
    const before = current === undefined || current.revision === next.revision ? earlier : [current, ...earlier];
    const older = before.filter(({ revision }) => revision !== next.revision).slice(0, this.#max);
    const isGood = [current, ...earlier].some((one) => one?.revision === next.revision && one.isGood === true);
    const taken = { ...next, ...(isGood ? { isGood } : {}) };
    const ended = { withdrawn: undefined, pruneApproval: undefined, askers: [] };
    await this.change({ ...ended, current: taken, earlier: older });
  }

  /** A rollout of the revision succeeded. */
  async noteGood(revision: string): Promise<void> {
    const { current } = this.#state;
    if (current?.revision === revision && current.isGood !== true)
      await this.change({ current: { ...current, isGood: true } });
  }

  /** A revision failed: an earlier one is the current one again. */
  async withdraw(revision: string, last: KnownRevision): Promise<void> {
    const { earlier } = this.#state;
    const rest = earlier.slice(earlier.findIndex((one) => one.revision === last.revision) + 1);
    await this.change({ current: last, earlier: rest, withdrawn: revision, pruneApproval: undefined });
  }

  async flush(): Promise<void> {
    await this.#store.flush();
  }

  async unpin(): Promise<void> {
    await this.change({ pin: undefined, pruneApproval: undefined, askers: [] });
  }
}
