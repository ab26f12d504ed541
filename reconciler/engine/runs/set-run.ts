// One run of a set: takes the lock, records the inventory, pending restarts and waits in advance, renews the lock, and at the end
// records the results and releases the lock. Begin and end are one write to the server each.
import { randomBytes } from 'node:crypto';
import type { Address } from '../../core/documents/document.ts';
import type { KeyHash, OwnerRecord } from '../../core/ownership/owner-records.ts';
import type { Plan, Step } from '../../core/plan/plan.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import {
  emptySetState,
  lockKey,
  readSetStates,
  renderSetState,
  stateKey,
  type SetState,
} from '../../core/ownership/set-state.ts';
import type { RunResult } from '../run-result.ts';
import {
  ownLocks,
  isAhead,
  isForsaken,
  isFree,
  isOverdue,
  LockedError,
  lockIn,
  lockTtlMs,
  LockWatch,
  newLock,
  renewed,
  type Lock,
} from '../notes/lock.ts';
import { claimsOf, stateAfterRun, withMade } from './state-after-run.ts';
import { changeNotes, type NotesConfig, type NotesDeps, type Patch } from '../notes/notes.ts';
import { SetNotes } from '../notes/set-notes.ts';
import { sharedNotes } from '../notes/shared-notes.ts';
import type { EngineClient } from '../steps/context.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export interface SetRunDeps {
  readonly client: EngineClient;
  /** The project of the connection. */
  readonly project?: string;
  readonly set: string;
  /** The key of the plan. */
  readonly key: string;
  readonly hash: KeyHash;
  /** `SetState.runs` as the plan saw it. */
  readonly runs: number;
  /** Records of objects that were gone when the plan was made: they are dropped, since a new object of that name is somebody else's. */
  readonly lost: ReadonlySet<Address>;
  /** How long to wait for a lock of another holder; default: not at all. */
  readonly lockTimeoutMs?: number;
  readonly ttlMs?: number;
  readonly nowMs: () => number;
  /** A clock that nobody sets, by which locks of others are watched; default: that of the process. */
  readonly steadyMs?: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Additional records for the begin and the end of the run. */
  readonly notes?: RunNotes;
  /** Called when the lock cannot be renewed, or the end of the run cannot be written. */
  readonly warn: (text: string) => void;
}

/** More keys to write at the begin and end of a run. Both functions may be called again with a newer config before a write succeeds. */
export interface RunNotes {
  opened(config: NotesConfig, plan: Plan, run: string, atMs: number): Patch;
  /** `isSetRemoved`: the set has no objects left, so its state is deleted. */
  closed(config: NotesConfig, result: RunResult | undefined, isSetRemoved: boolean): Patch;
}

/** Another run of the set happened after the plan. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
}

/** The set is locked between `begin` and `finish`. Always call `finish`. */
export class SetRun {
  readonly id = randomBytes(6).toString('hex');
  readonly #deps: SetRunDeps;
  readonly #notes: NotesDeps;
  readonly #ttlMs: number;
  #before: SetState;
  #steps: readonly Step[] = [];
  #plan: Plan | undefined;
  #claims: ReadonlyMap<Address, OwnerRecord> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #isLocked = false;
  #isTaken = false;
  /** The lock that restricted clients of the project also see: taken first, released last. */
  #shared: NotesDeps | undefined;
  /** After a successful run the set has no objects, so its notes are deleted as well. */
  #removesSet = false;

  constructor(deps: SetRunDeps) {
    this.#deps = deps;
    this.#notes = { notes: new SetNotes(deps.client, deps.set, deps.project), pause: deps.pause };
    this.#ttlMs = deps.ttlMs ?? lockTtlMs;
    this.#before = emptySetState(deps.key);
  }

  get hash(): KeyHash {
    return this.#deps.hash;
  }

  /** Another run took the lock, which this one had not renewed in time: its machine was suspended, or could not reach the server. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Throws LockedError while another run holds the lock, OvertakenError when another run happened after the plan. */
  async begin(plan: Plan, signal: AbortSignal): Promise<void> {
    this.#steps = plan.steps;
    this.#plan = plan;
    this.#removesSet = plan.mode === 'destroy' && plan.isPartial !== true && plan.guards.length === 0;
    this.#claims = claimsOf(plan, this.#deps.hash);
    const restarts = await this.#restarts(signal);
    const { notes, nowMs } = this.#deps;
    const open = (config: NotesConfig): Patch => ({
      ...this.#opened(config, restarts),
      ...notes?.opened(config, plan, this.id, nowMs()),
    });
    const endMs = nowMs() + (this.#deps.lockTimeoutMs ?? 0);
    await this.#lockShared(endMs, signal);
    try {
      await this.#locked(this.#notes, open, endMs, signal);
    } catch (error) {
      await this.#release(this.#takeShared());
      throw error;
    }
    this.#isLocked = true;
    this.#begin();
  }

  async #lockShared(endMs: number, signal: AbortSignal): Promise<void> {
    const { client, project, set, nowMs, pause } = this.#deps;
    const notes = await sharedNotes(client, project, signal);
    if (notes === undefined) return;
    const open = (): Patch => ({ [lockKey(set)]: JSON.stringify(newLock(this.id, nowMs(), this.#ttlMs)) });
    await this.#locked({ notes, pause }, open, endMs, signal);
    this.#shared = { notes, pause };
    this.#begin();
  }

  #begin(): void {
    ownLocks.add(this.id);
    this.#timer ??= setInterval(() => void this.#renew(), this.#ttlMs / 3);
    this.#timer.unref();
  }

  /** Never rejects. */
  async #release(shared: NotesDeps | undefined): Promise<void> {
    clearInterval(this.#timer);
    ownLocks.delete(this.id);
    if (shared === undefined) return;
    const { set } = this.#deps;
    const release = (config: NotesConfig): Patch => (lockIn(config, set)?.id === this.id ? { [lockKey(set)]: '' } : {});
    await changeNotes(shared, release, AbortSignal.timeout(30_000)).catch((error: unknown) =>
      this.#deps.warn(`the lock of the set ${set} in its project could not be released: ${reasonOf(error)}`),
    );
  }

  /** Never rejects: the steps are done, so a failed write is only a warning. */
  async finish(result: RunResult | undefined): Promise<void> {
    if (!this.#isLocked) return;
    this.#isLocked = false;
    const shared = this.#takeShared();
    const limit = AbortSignal.timeout(30_000);
    try {
      await changeNotes(this.#notes, (config) => this.#closed(config, result), limit);
    } catch (error) {
      const why = reasonOf(error);
      this.#deps.warn(
        `the end of the run could not be recorded on the server, so its lock stays until it expires: ${why}`,
      );
    }
    await this.#release(shared);
  }

  /** Takes over the shared lock for its release and stops renewing it. */
  #takeShared(): NotesDeps | undefined {
    const shared = this.#shared;
    this.#shared = undefined;
    return shared;
  }

  #opened(config: NotesConfig, restarts: ReadonlyMap<string, string>): Patch {
    const { set, key, runs, lost, nowMs } = this.#deps;
    const found = readSetStates(config).get(set);
    if ((found?.runs ?? 0) !== runs || (found !== undefined && found.key !== key)) {
      throw new OvertakenError(`another run of the set ${set} happened after the plan was made`);
    }
    const before = found ?? emptySetState(key);
    const inventory = new Map([...before.inventory].filter(([address]) => !lost.has(address)));
    this.#before = { ...before, inventory };
    const waits = this.#steps.filter((step) => step.action === 'wait').map((step) => step.name);
    const state: SetState = {
      key,
      runs: runs + 1,
      inventory: new Map([...inventory, ...this.#claims]),
      sources: this.#before.sources,
      restarts: new Map([...this.#before.restarts, ...restarts]),
      unready: new Set([...this.#before.unready, ...waits]),
    };
    const lock = newLock(this.id, nowMs(), this.#ttlMs);
    return { ...renderSetState(set, state, config), [lockKey(set)]: JSON.stringify(lock) };
  }

  #closed(config: NotesConfig, result: RunResult | undefined): Patch {
    const { set } = this.#deps;
    const found = readSetStates(config).get(set);
    // If another run took the lock by force, it also owns the state.
    const isOurs = lockIn(config, set)?.id === this.id;
    if (!isOurs || found === undefined) return {};
    const after = stateAfterRun(found, this.#before, this.#steps, new Set(result?.done));
    const state = this.#plan === undefined ? after : withMade(after, this.#plan, result, this.#deps.hash);
    const isOver = state.inventory.size + state.sources.size + state.restarts.size + state.unready.size === 0;
    const isWhole = isOver && this.#removesSet && result?.failures.length === 0 && result.skipped.length === 0;
    const left = isWhole ? { [stateKey(set)]: '' } : renderSetState(set, state, config);
    return { ...left, ...this.#deps.notes?.closed(config, result, isWhole), [lockKey(set)]: '' };
  }

  /** The last start of each container before this run. */
  async #restarts(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const names = new Set(this.#steps.filter((step) => step.action === 'restart').map((step) => step.name));
    if (names.size === 0) return new Map();
    const found = new Map<string, string>();
    for (const project of new Set(this.#steps.map((step) => step.project))) {
      const client = project === undefined ? this.#deps.client : this.#deps.client.inProject(project);
      for (const one of await client.list('container', signal)) {
        const name = scopedName(one.name, project);
        if (names.has(name)) found.set(name, one.last_used_at ?? '');
      }
    }
    return found;
  }

  async #locked(
    notes: NotesDeps,
    open: (config: NotesConfig) => Patch,
    endMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { set, nowMs, pause, steadyMs = () => performance.now() } = this.#deps;
    const ttlMs = this.#ttlMs;
    const watch = new LockWatch(ttlMs / 3 + 1000, steadyMs);
    for (;;) {
      let found: Lock | undefined;
      await changeNotes(
        notes,
        (config) => {
          found = lockIn(config, set);
          if (found?.id === this.id) found = undefined;
          if (found !== undefined && (isFree(found, watch, nowMs()) || isForsaken(found, watch))) found = undefined;
          return found === undefined ? open(config) : undefined;
        },
        signal,
      );
      if (found === undefined) return;
      // Such a lock is watched for a while even without a wait time: its holder may have another clock.
      const isOdd = isOverdue(found, nowMs()) || (isAhead(found, nowMs()) && !watch.isRenewed);
      if (nowMs() >= endMs && !isOdd) throw new LockedError(set, found);
      await pause(Math.min(1000, Math.max(50, ttlMs / 10)), signal);
    }
  }

  async #renew(): Promise<void> {
    const shared = this.#shared;
    if (this.#isLocked) await this.#renewIn(this.#notes, () => this.#isLocked);
    if (shared !== undefined) await this.#renewIn(shared, () => this.#shared !== undefined);
  }

  async #renewIn(notes: NotesDeps, isOpen: () => boolean): Promise<void> {
    const { set, nowMs, warn } = this.#deps;
    try {
      await changeNotes(
        notes,
        (config) => {
          const lock = lockIn(config, set);
          if (!isOpen()) return undefined;
          if (lock?.id !== this.id) {
            // Without any lock, a step of this run may have deleted its place.
            this.#isTaken ||= lock !== undefined;
            throw new Error('another run took the lock');
          }
          return { [lockKey(set)]: JSON.stringify(renewed(lock, nowMs(), this.#ttlMs)) };
        },
        AbortSignal.timeout(this.#ttlMs / 3),
      );
    } catch (error) {
      warn(`the lock of the set ${set} could not be renewed: ${reasonOf(error)}`);
    }
  }
}
