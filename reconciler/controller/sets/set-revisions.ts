// The revisions of one set: takes those that its source offers, refuses broken ones, and goes back to earlier ones. One change at a time.
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { SetConfig } from '../config/config.ts';
import { ControllerError } from '../controller.ts';
import { short } from '../decide/short-revision.ts';
import type { Source } from '../sources/source.ts';
import { loadRevision, type LoadedRevision } from './load-revision.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';
import type { Rollouts, StartPart } from './rollouts.ts';
import type { Run } from './run-book.ts';
import type { KnownRevision, StoredSet } from './set-state.ts';

export interface SetRevisionsDeps {
  readonly config: SetConfig;
  readonly source: Source;
  readonly stored: StoredSet;
  readonly hosts: readonly SetOnHost[];
  readonly rollouts: Pick<Rollouts, 'start' | 'stop'>;
  /** Called once for each list of problems. */
  readonly onRefused: (revision: string, problems: readonly string[]) => void;
  readonly onError: (message: string) => void;
  readonly nowMs: () => number;
}

export interface RollbackOrder {
  /** The start of it is enough. */
  readonly revision: string;
  readonly reason: string;
  readonly by: string;
  /** Absent: all hosts. */
  readonly hosts?: readonly string[];
}

export class SetRevisions {
  readonly #deps: SetRevisionsDeps;
  #problems: readonly string[] = [];
  #offered: string | undefined;
  #working: Promise<unknown> = Promise.resolve();

  constructor(deps: SetRevisionsDeps) {
    this.#deps = deps;
  }

  /** Why the newest revision is not in force; empty: it is. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Resolves when the change at work has ended. */
  async idle(): Promise<void> {
    await this.#working.catch(() => undefined);
  }

  /** Brings the revision in force to all hosts. `why`: ends the rollout at work. */
  async bring(start: StartPart, signal: AbortSignal, why?: string): Promise<void> {
    return this.#inTurn(async () => {
      const { stored, rollouts, onError } = this.#deps;
      const { wanted } = stored;
      if (wanted === undefined) return;
      try {
        const loaded = await this.load(wanted, signal);
        if (loaded.problems.length > 0) throw new Error(loaded.problems.join('; '));
        if (why !== undefined) rollouts.stop(why);
        rollouts.start(wanted, loaded, start);
      } catch (error) {
        if (!signal.aborted) onError(`the revision ${short(wanted)} in use cannot be read: ${reasonOf(error)}`);
      }
    });
  }

  /** The source has this revision now. A broken one changes nothing. */
  async offer(next: KnownRevision, signal: AbortSignal): Promise<void> {
    const { state } = this.#deps.stored;
    const isKnown =
      next.revision === this.#offered || (this.#offered === undefined && next.revision === state.withdrawn);
    if (isKnown) return;
    this.#offered = next.revision;
    if (state.pin !== undefined) return;
    const isGiven = this.#deps.hosts.every(({ target }) => target !== undefined);
    if (next.revision === state.current?.revision && isGiven) return;
    const start: StartPart = { kind: 'sync', reason: 'commit', by: next.who ?? 'unknown' };
    await this.#inTurn(() => this.#take(next, start, signal));
  }

  async #take(next: KnownRevision, start: StartPart, signal: AbortSignal): Promise<void> {
    let loaded: LoadedRevision;
    try {
      loaded = await this.load(next.revision, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#offered = undefined;
      return this.#refuse(next, [reasonOf(error)]);
    }
    if (loaded.problems.length > 0) return this.#refuse(next, loaded.problems);
    this.#problems = [];
    await this.#deps.stored.advance(next);
    const { message } = next;
    this.#deps.rollouts.start(next.revision, loaded, { ...start, ...(message === undefined ? {} : { message }) });
  }

  #refuse({ revision }: KnownRevision, problems: readonly string[]): void {
    const isTold = problems.join('\n') === this.#problems.join('\n');
    this.#problems = problems;
    if (!isTold) this.#deps.onRefused(revision, problems);
  }

  /** The manifests of a revision for each host of the set. */
  async load(revision: string, signal: AbortSignal): Promise<LoadedRevision> {
    const { config, hosts, source } = this.#deps;
    const { dir } = await source.checkout(revision, signal);
    return loadRevision(
      dir,
      config,
      hosts.map(({ link }) => link.host),
      signal,
    );
  }

  /** Back to the last good revision, until the source has another one. Not in turn: a rollout asks for it. */
  async goBack(from: string): Promise<{ readonly revision: string; readonly loaded: LoadedRevision } | undefined> {
    const { stored } = this.#deps;
    const [last, ...earlier] = stored.state.earlier;
    if (last === undefined) return undefined;
    const loaded = await this.load(last.revision, new AbortController().signal);
    await stored.change({ current: last, earlier, withdrawn: from });
    return { revision: last.revision, loaded };
  }

  /** Goes back to a revision and stays there until the set is resumed. Returns its full name and its run. */
  async rollback(
    { revision, reason, by, hosts }: RollbackOrder,
    signal: AbortSignal,
  ): Promise<{ readonly revision: string; readonly run: Run | undefined }> {
    const { nowMs, rollouts, stored } = this.#deps;
    const wanted = stored.named(revision);
    return this.#inTurn(async () => {
      const loaded = await this.load(wanted, signal);
      if (loaded.problems.length > 0)
        throw new ControllerError('conflict', `revision ${short(wanted)} has errors: ${loaded.problems[0] ?? ''}`);
      await stored.change({ pin: { revision: wanted, reason, by, since: new Date(nowMs()).toISOString() } });
      const start: StartPart = { kind: 'rollback', reason: `rollback: ${reason}`, by };
      return { revision: wanted, run: rollouts.start(wanted, loaded, start, hosts) };
    });
  }

  /** The end of a rollback: the newest revision is in force again. False when there was none. */
  async unpin(by: string, signal: AbortSignal): Promise<boolean> {
    const { stored } = this.#deps;
    const { pin, current } = stored.state;
    if (pin === undefined) return false;
    await stored.unpin();
    this.#offered = undefined;
    const start: StartPart = { kind: 'sync', reason: 'resume', by };
    if (current !== undefined) await this.#inTurn(() => this.#take(current, start, signal));
    return true;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#working.catch(() => undefined).then(work);
    this.#working = next;
    return next;
  }
}
