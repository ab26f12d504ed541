// The revisions of one set: takes those that its source offers, refuses broken ones, and goes back to earlier ones. One change at a time.
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { SetConfig } from '../config/config.ts';
import { ControllerError } from '../controller.ts';
import { short } from '../decide/short-revision.ts';
import { VaultSecrets } from '../../manifest/secrets/vault-secrets.ts';
import type { Source } from '../sources/source.ts';
import { loadRevision, nothingFor, sealed, type LoadedRevision } from './load-revision.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';
import type { Rollouts, StartPart } from './rollouts.ts';
import type { Run } from './run.ts';
import type { DigestSeal, KnownRevision } from '../decide/set-state.ts';
import type { StoredSet } from './stored-set.ts';
import { watchVault } from './vault-watch.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface SetRevisionsDeps {
  readonly config: SetConfig;
  readonly source: Source;
  readonly stored: StoredSet;
  readonly hosts: readonly SetOnHost[];
  readonly rollouts: Pick<Rollouts, 'start' | 'stop' | 'isStopped'>;
  /** False while another controller is the active one; this one then takes no revision. */
  readonly isActive: () => boolean;
  /** Seals the digests that are compared with the stored ones. */
  readonly seal: DigestSeal;
  readonly onLoaded?: (loaded: LoadedRevision) => void;
  /** Called once for each list of problems. */
  readonly onRefused: (revision: string, problems: readonly string[]) => void;
  readonly onError: (message: string) => void;
  readonly onWarning: (message: string) => void;
  readonly nowMs: () => number;
}

export interface RollbackOrder {
  /** A revision, or the first characters of one. */
  readonly revision: string;
  readonly reason: string;
  readonly by: string;
  /** Absent: all hosts. */
  readonly hosts?: readonly string[];
}

const newerCame = 'A newer revision came first.';

export class SetRevisions {
  readonly #deps: SetRevisionsDeps;
  #problems: readonly string[] = [];
  #offered: string | undefined;
  /** The newest revision of its source; taken when a rollback ends. */
  #newest: KnownRevision | undefined;
  #working: Promise<unknown> = Promise.resolve();
  /** The values of Vault in the documents in force. */
  #fromVault: ReadonlyMap<string, string> = new Map();
  readonly #vault: VaultSecrets | undefined;
  #isClosed = false;

  constructor(deps: SetRevisionsDeps) {
    this.#deps = deps;
    const { vault } = deps.config;
    this.#vault = vault === undefined ? undefined : new VaultSecrets(vault);
  }

  /** Why the newest revision is not in force; empty when it is. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Resolves when the current change has ended. */
  async idle(): Promise<void> {
    await this.#working.catch(() => undefined);
  }

  /** Rolls out the revision in force to all hosts, and then the one that the source offered before this controller was active. */
  async begin(start: StartPart, signal: AbortSignal): Promise<void> {
    this.#offered = undefined;
    await this.rollOut(start, signal);
    await this.catchUp(signal);
  }

  /** Takes what the source offered while another controller was active. */
  async catchUp(signal: AbortSignal): Promise<void> {
    if (this.#newest !== undefined) await this.#consider(this.#newest, signal);
  }

  /** Rolls out the revision in force to all hosts. `why`: ends the rollout at work. */
  async rollOut(start: StartPart, signal: AbortSignal, why?: string): Promise<void> {
    return this.#inTurn(async () => {
      const { stored, rollouts, onError } = this.#deps;
      const { wanted } = stored;
      if (wanted === undefined) return;
      const on = stored.state.pin?.hosts;
      try {
        const loaded = await this.#sound(wanted, signal);
        await this.#keep(new Map([[wanted, loaded]]), { wanted, on }, signal).catch((error: unknown) => {
          onError(`what hosts have of an earlier revision cannot be read: ${reasonOf(error)}`);
        });
        if (why !== undefined) rollouts.stop(why);
        this.#fromVault = loaded.fromVault ?? new Map();
        rollouts.start(wanted, loaded, start, on);
      } catch (error) {
        if (!signal.aborted) onError(`the revision ${short(wanted)} in use cannot be read: ${reasonOf(error)}`);
      }
    });
  }

  /**
   * Hosts without a target keep the revision that they got last, in full or in part, until their batch comes or while a rollback holds
   * others. Nothing here brings a host to another revision.
   */
  async #keep(
    revisions: Map<string, LoadedRevision>,
    { wanted, on }: { readonly wanted: string; readonly on: readonly string[] | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { hosts, stored } = this.#deps;
    for (const host of hosts) {
      const { revision, isInPart } = stored.revisionOf(host.name);
      if (host.target !== undefined || revision === undefined) continue;
      // The host has a part of a revision that is no longer in force: the rollout that follows brings it to the right one.
      const isReached = on === undefined || on.includes(host.name);
      if (isInPart && revision !== wanted && isReached) continue;
      const all = revisions.get(revision) ?? (await this.#sound(revision, signal));
      revisions.set(revision, all);
      const loaded = all.hosts.get(host.name);
      // Its documents have other values since secrets were rotated: the rollout that follows brings them in its turn.
      const isRotated = !isInPart && loaded?.text !== stored.state.hosts[host.name]?.text;
      if (isRotated && revision === wanted && isReached) continue;
      if (loaded !== undefined) host.give({ revision, loaded, secrets: all.secrets });
    }
  }

  /** Rolls the revision in force out again whenever values in Vault have changed. Ends when `signal` fires; never rejects. */
  async watchVault(start: StartPart, signal: AbortSignal): Promise<void> {
    const { config, isActive, onWarning } = this.#deps;
    const vault = this.#vault;
    if (config.vault === undefined || vault === undefined || config.isLeaving === true) return;
    const look = async (end: AbortSignal): Promise<void> => {
      if (!isActive() || !(await vault.differs(this.#fromVault, end))) return;
      await this.rollOut(start, end, 'A secret was rotated.');
    };
    await watchVault({ intervalMs: config.vault.intervalMs, look, onError: onWarning }, signal);
  }

  /** Lets the current change end, and gives up the token of Vault. A rollout that fails later withdraws nothing: the state may have a new owner. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.idle();
    await this.#vault?.close();
  }

  /** Takes a new revision of the source. One with problems changes nothing. */
  async offer(next: KnownRevision, signal: AbortSignal): Promise<void> {
    if (this.#deps.isActive()) return this.#consider(next, signal);
    this.#newest = next;
  }

  async #consider(next: KnownRevision, signal: AbortSignal): Promise<void> {
    const { state } = this.#deps.stored;
    const isKnown =
      next.revision === this.#offered || (this.#offered === undefined && next.revision === state.withdrawn);
    if (isKnown) return;
    this.#offered = next.revision;
    this.#newest = next;
    if (state.pin !== undefined) return;
    const isGiven = this.#deps.hosts.every(({ target }) => target !== undefined);
    if (next.revision === state.current?.revision && isGiven) {
      // A source that went back to the revision in force: nothing is refused any more.
      this.#problems = [];
      return;
    }
    const start: StartPart = { kind: 'sync', reason: 'commit', by: next.who ?? 'unknown' };
    await this.#inTurn(() => this.#take(next, start, signal));
  }

  async #take(next: KnownRevision, start: StartPart, signal: AbortSignal): Promise<void> {
    // A rollback came while this one waited for its turn: its end takes the newest revision.
    if (this.#deps.stored.state.pin !== undefined) return;
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
    // No further host gets the old revision.
    this.#deps.rollouts.stop(newerCame);
    await this.#storeOrGoOn(this.#deps.stored.advance(next), start.by, signal);
    const { message } = next;
    this.#fromVault = loaded.fromVault ?? new Map();
    this.#deps.rollouts.start(next.revision, loaded, { ...start, ...withoutUndefined({ message }) });
  }

  #refuse({ revision }: KnownRevision, problems: readonly string[]): void {
    const isReported = problems.join('\n') === this.#problems.join('\n');
    this.#problems = problems;
    if (!isReported) this.#deps.onRefused(revision, problems);
  }

  /** The manifests of a revision for each host of the set. */
  async load(revision: string, signal: AbortSignal): Promise<LoadedRevision> {
    const { config, hosts, source, seal, onLoaded } = this.#deps;
    if (config.isLeaving === true) return sealed(nothingFor(hosts.map(({ name }) => name)), seal);
    const { dir } = await source.checkout(revision, signal);
    const on = hosts.map(({ link }) => link.host);
    const loaded = sealed(await loadRevision(dir, config, on, signal, this.#vault), seal);
    onLoaded?.(loaded);
    return loaded;
  }

  /** Loads a revision, and throws when its manifests have errors. */
  async #sound(revision: string, signal: AbortSignal): Promise<LoadedRevision> {
    const loaded = await this.load(revision, signal);
    if (loaded.problems.length > 0) throw new Error(loaded.problems.join('; '));
    return loaded;
  }

  /** Back to the last good revision, until the source has a new one. Undefined when there is none, or a newer revision is in force. */
  goBack(from: string): Promise<{ readonly revision: string; readonly loaded: LoadedRevision } | undefined> {
    return this.#inTurn(async () => {
      const { stored } = this.#deps;
      const { lastGood } = stored;
      if (this.#isClosed || lastGood === undefined || stored.wanted !== from) return undefined;
      const loaded = await this.#sound(lastGood.revision, new AbortController().signal);
      await stored.withdraw(from, lastGood);
      this.#fromVault = loaded.fromVault ?? new Map();
      return { revision: lastGood.revision, loaded };
    });
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
      const since = new Date(nowMs()).toISOString();
      const on = hosts === undefined ? {} : { hosts };
      rollouts.stop(newerCame);
      const pin = { revision: wanted, reason, by, since, ...on };
      await this.#storeOrGoOn(stored.change({ pruneApproval: undefined, askers: [], pin }), by, signal);
      this.#fromVault = loaded.fromVault ?? new Map();
      const start: StartPart = { kind: 'rollback', reason: `rollback: ${reason}`, by };
      return { revision: wanted, run: rollouts.start(wanted, loaded, start, hosts) };
    });
  }

  /** Ends a rollback: the newest revision that was not withdrawn is in force again. Returns false when there was no rollback. */
  async unpin(by: string, signal: AbortSignal): Promise<boolean> {
    const { stored, rollouts, isActive } = this.#deps;
    const { pin, current, withdrawn } = stored.state;
    if (pin === undefined) return false;
    if (!isActive()) throw new ControllerError('unavailable', 'this controller is not active now: try again later');
    rollouts.stop(newerCame);
    await this.#storeOrGoOn(stored.unpin(), by, signal);
    const start: StartPart = { kind: 'sync', reason: 'resume', by };
    // The source has nothing newer than the revision that was withdrawn.
    const isWithdrawn = withdrawn !== undefined && (this.#newest?.revision ?? withdrawn) === withdrawn;
    // `current` is still the revision before the rollback.
    const next = this.#newest ?? current;
    this.#offered = isWithdrawn ? this.#newest?.revision : next?.revision;
    if (next !== undefined) {
      if (!isWithdrawn) await this.#inTurn(() => this.#take(next, start, signal));
      // A refused revision leaves the one before the rollback in force.
      if (isWithdrawn || this.#problems.length > 0) await this.rollOut(start, signal);
    }
    return true;
  }

  /** When a change cannot be stored, the rollout that was stopped for it begins again, and the next check offers the revision again. */
  async #storeOrGoOn(storing: Promise<void>, by: string, signal: AbortSignal): Promise<void> {
    await storing.catch((error: unknown) => {
      this.#offered = undefined;
      if (!this.#deps.rollouts.isStopped) void this.rollOut({ kind: 'resync', reason: 'not stored', by }, signal);
      throw error;
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#working.catch(() => undefined).then(work);
    this.#working = next;
    return next;
  }
}
