// Ensures that containers on shared storage do not outlive this member's lease: others may start them then. The guard ends them even if
// this daemon is dead or frozen; containers ended so are restarted here if they are still this member's.
import type { ServiceParts } from '../../shared/service-parts.ts';
import { errors } from '../../../api/errors.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { fenceKey } from '../../../membership/signals.ts';
import type { RunConfig } from '../../../drivers/runtime/driver.ts';
import type { Guard } from '../../../drivers/runtime/guard/guard.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { settingOf } from '../../shared/settings.ts';
import { warnedContainer } from '../../warnings/warned-objects.ts';
import type { WarningSink } from '../../warnings/warning-sink.ts';
import { ConcurrencyLimit } from '../../../lib/shared/concurrency-limit.ts';

export interface FencingDeps extends Pick<ServiceParts, 'records' | 'cluster' | 'runtime' | 'log'> {
  readonly guard: Guard;
  /** Why there can be no guard here; undefined: there can. */
  readonly missing: string | undefined;
  readonly warnings: WarningSink;
  /** The clock of performance.now(). */
  readonly nowMs: () => number;
}

/** What to do with ended containers once the lease is held again. */
export interface AfterFence {
  /** Starts a container that is still this member's, if it ran. */
  resume(name: string): Promise<void>;
  /** Another member has taken the container: removes its traces from this host's runtime; the files stay. */
  forget(name: string): Promise<void>;
}

/** Starts need at least this much time before the lease ends. */
const shortestMs = 1_000;

export class Fencing {
  readonly #deps: FencingDeps;
  readonly #starting = new Set<string>();
  /** Containers that ended with the lease, or may have. */
  readonly #ended: Set<string>;
  #after: AfterFence | undefined;
  /** The guard ends everything here unless it is fed. */
  #isGuarded = false;
  /** The others may know that this member is fenced. */
  #mayBePublished = false;
  #untilMs = Number.NEGATIVE_INFINITY;
  readonly #feeds = new ConcurrencyLimit(1);
  #complaint = '';
  #isGoingOn = false;
  readonly #ending = new Set<string>();

  constructor(deps: FencingDeps) {
    this.#deps = deps;
    const { guard } = deps;
    this.#ended = new Set(guard.hasEnded ? guard.note()?.names : []);
  }

  /** Why containers lack a guard that they need; undefined: none does. */
  get problem(): string | undefined {
    return this.#complaint === '' || !this.#isWanted ? undefined : this.#complaint;
  }

  /** Names that an earlier daemon guarded: this member may have lost their records. */
  get formerNames(): readonly string[] {
    return this.#deps.guard.note()?.names ?? [];
  }

  begin(after: AfterFence): void {
    for (const name of this.formerNames) if (!this.#deps.records.containers.has(name)) this.#ended.add(name);
    this.#after = after;
  }

  /** Runs for each new lease, which may end before the previous one would have. */
  readonly beforePublishing = async (untilMs: number): Promise<void> => {
    if (this.#isWanted || this.#isActive) await this.#feed(untilMs).catch((error: unknown) => this.#complain(error));
  };

  /** Published to the others: everything here ends with the lease. */
  readonly isFenced = (): boolean => {
    const isIt = this.#isWanted && this.#isGuarded;
    this.#mayBePublished ||= isIt;
    return isIt;
  };

  /** The container ended because the lease did: that is no stop, and not recorded as one. */
  hasEnded(name: string): boolean {
    const isCutOff = this.#after !== undefined && this.#isActive && this.#isOver;
    if (this.#isShared(name) && (isCutOff || this.#deps.guard.hasEnded)) this.#ended.add(name);
    return this.#ended.has(name);
  }

  /** Starts a container with these limits. Throws AppError unavailable if another member might start it, too. */
  async whileStarting<T>(name: string, start: (limits: Pick<RunConfig, 'startUntilFile'>) => Promise<T>): Promise<T> {
    if (!this.#isShared(name) || !(this.#isWanted || this.#isActive)) return await start({});
    this.#starting.add(name);
    try {
      const isActive = this.#isActive;
      if (isActive) await this.#allow(name);
      // The guard sees it only once it has a control group; a delayed start must not begin after the lease.
      const result = await start(isActive ? { startUntilFile: this.#deps.guard.startUntilFile } : {});
      if (this.#isActive && this.#isOver) {
        await this.#end(name);
        throw refused(name, 'its lease ended during the start');
      }
      return result;
    } finally {
      this.#starting.delete(name);
    }
  }

  /** The end of a lease, this member's or another's, has consequences. */
  get isNeeded(): boolean {
    return this.#isWanted || this.#isActive || this.#ended.size > 0;
  }

  /** Call each second while it is needed, otherwise now and then. Never throws. */
  async tick(): Promise<void> {
    const { cluster, guard, nowMs } = this.#deps;
    if (cluster.isFencePublished === false && !this.#isWanted) this.#mayBePublished = false;
    if (!cluster.isOn || !(this.#isWanted || this.#isActive)) {
      if (this.#isGuarded || guard.limitsStarts) guard.quit();
      this.#isGuarded = false;
      return;
    }
    if (this.#isActive && this.#isOver) this.#endAll();
    if (guard.hasEnded) this.#noteEnd();
    // Before the first lease, an earlier daemon's guard has the better deadline.
    if (Math.max(this.#untilMs, cluster.heldUntilMs) === Number.NEGATIVE_INFINITY) return;
    try {
      await this.#feed();
      if (this.isFenced() !== cluster.isFencePublished) await cluster.awaitVisible();
    } catch (error) {
      this.#complain(error);
    }
    if (this.#isGoingOn || this.#ended.size === 0 || cluster.heldUntilMs <= nowMs()) return;
    this.#isGoingOn = true;
    void this.#resumeAll().finally(() => {
      this.#isGoingOn = false;
    });
  }

  /** The daemon ends, the containers keep running: until the lease would have ended. */
  close(): void {
    if (this.#guarded().length === 0) this.#deps.guard.quit();
    else this.#deps.guard.letGo();
  }

  get #isWanted(): boolean {
    const { cluster, records } = this.#deps;
    return cluster.isOn && Number(settingOf(records, 'cluster.healing_threshold')) > 0;
  }

  /** The others may take over this member's containers when its lease ends. */
  get #isActive(): boolean {
    const { cluster, records } = this.#deps;
    if (!cluster.isOn) return false;
    if (this.#mayBePublished || cluster.isFencePublished === true) return true;
    return (
      cluster.isFencePublished === undefined && records.contents.signal(fenceKey(cluster.members.here)) !== undefined
    );
  }

  get #isOver(): boolean {
    return this.#deps.nowMs() >= this.#deps.cluster.heldUntilMs;
  }

  #isShared(name: string): boolean {
    const { containers, pools } = this.#deps.records;
    const pool = containers.get(name)?.document.pool;
    return pool !== undefined && isTrue(pools.get(pool)?.document.config['source.shared']);
  }

  /** Containers that the guard must know: those that run or may start, and those that another member has taken. */
  #guarded(): readonly string[] {
    const { records, runtime } = this.#deps;
    const shared = records.pools.list().filter(({ document }) => isTrue(document.config['source.shared']));
    if (shared.length === 0 && this.#ended.size === 0) return [];
    const own = records.containers.list().map(({ name }) => name);
    const names = own.filter((name) => this.#isShared(name) && runtime.probe(name).status !== 'stopped');
    return [...new Set([...names, ...this.#starting, ...this.#ended])];
  }

  async #allow(name: string): Promise<void> {
    const { cluster, records, nowMs } = this.#deps;
    const uuid = records.containers.get(name)?.document.uuid;
    if (cluster.heldUntilMs - nowMs() < shortestMs) throw refused(name, 'it does not reach the store of the cluster');
    // From here on no member takes it away, and earlier takeovers are visible.
    if (!(await cluster.readBarrier())) throw refused(name, 'the store of the cluster does not answer');
    if (records.containers.get(name)?.document.uuid !== uuid) throw errors.notFound('container', name);
    await this.#feed().catch((error: unknown) => {
      throw refused(name, `it cannot guard it: ${errorText(error)}`);
    });
    if (cluster.heldUntilMs - nowMs() < shortestMs) throw refused(name, 'it does not reach the store of the cluster');
  }

  /** One at a time: the last feed has the latest deadline and all names. */
  #feed(untilMs?: number): Promise<void> {
    return this.#feeds.run(() => this.#feedNow(untilMs ?? this.#deps.cluster.heldUntilMs));
  }

  async #feedNow(untilMs: number): Promise<void> {
    const { guard, runtime, missing } = this.#deps;
    // Without a lease the last deadline stays.
    if (untilMs !== Number.NEGATIVE_INFINITY) this.#untilMs = untilMs;
    const names = this.#guarded();
    try {
      if (missing !== undefined) throw new Error(missing);
      const paths = names.flatMap((name) => runtime.killPaths?.(name) ?? []);
      // No guard is needed without containers.
      if (names.length > 0 || guard.isRunning) await guard.feed({ untilMs: this.#untilMs, paths }, names);
      this.#isGuarded = true;
      this.#complaint = '';
    } catch (error) {
      this.#isGuarded = false;
      throw error;
    }
  }

  /** The guard acted first, or this daemon was frozen: every guarded container has ended, or is about to. */
  #noteEnd(): void {
    const { records } = this.#deps;
    for (const name of this.formerNames)
      if (this.#isShared(name) || !records.containers.has(name)) this.#ended.add(name);
  }

  #complain(error: unknown): void {
    const text = errorText(error);
    if (this.#complaint !== text)
      this.#deps.log.error(
        `Containers on shared storage are not guarded, and stay here when this member is lost: ${text}`,
      );
    this.#complaint = text;
  }

  /** Does not wait: the next tick retries each one. */
  #endAll(): void {
    const { runtime, log } = this.#deps;
    const isLeft = (name: string): boolean => !this.#ending.has(name) && runtime.probe(name).status !== 'stopped';
    const names = this.#guarded().filter(isLeft);
    if (names.length > 0)
      log.error(
        `This member is cut off from its cluster: it ends its containers on shared storage: ${names.join(', ')}`,
      );
    for (const name of names) void this.#end(name);
  }

  async #end(name: string): Promise<void> {
    const { runtime, log } = this.#deps;
    this.#ended.add(name);
    this.#ending.add(name);
    try {
      await runtime.stop(name, { force: true }, new AbortController().signal);
    } catch (error) {
      if (runtime.probe(name).status !== 'stopped') log.error(`Ending ${name} failed: ${errorText(error)}`);
    } finally {
      this.#ending.delete(name);
    }
  }

  /** The lease is held again, and this member has read everything that the others did in between. */
  async #resumeAll(): Promise<void> {
    const { cluster, guard, records, log, warnings, nowMs } = this.#deps;
    if (this.#after === undefined || !(await cluster.readBarrier())) return;
    for (const name of this.#ended) {
      try {
        const isOwn = records.containers.has(name);
        await (isOwn ? this.#after.resume(name) : this.#after.forget(name));
        if (records.others.get('containers', name) !== undefined)
          log.warn(`The container ${name} belongs to another member since this one was lost: it no longer runs here`);
      } catch (error) {
        const why = `After this member was cut off, ${name} could not be restarted: ${errorText(error)}`;
        log.error(why);
        if (records.containers.has(name)) warnings.seen('lostMemberStart', why, warnedContainer(records, name));
      }
      // Cut off again: retried after the next lease.
      if (cluster.heldUntilMs <= nowMs()) return;
      this.#ended.delete(name);
    }
    guard.forgetEnd();
  }
}

const refused = (name: string, why: string) =>
  errors.unavailable(
    `The container ${name} is on shared storage and another member might start it, so this one does not start it now: ${why}`,
  );
