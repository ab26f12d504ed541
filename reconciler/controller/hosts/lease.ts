// Makes one of several controllers of one name the active one: the one that holds the lock of the set `controller-NAME` on most of up to three
// hosts. A lock is renewed every few seconds, and another controller takes it over when its holder is gone. No controller takes a free lock while
// another one is active, and one that has too few locks releases them for a while: so two that start at the same time, or know
// different hosts while their configuration changes, are never both active and do not block each other.
import { randomBytes } from 'node:crypto';
import { pause, untilAborted, withLimit } from '../../../server/lib/shared/deadline.ts';
import { lockKey } from '../../core/ownership/set-state.ts';
import { changeNotes } from '../../engine/notes/notes.ts';
import { SetNotes } from '../../engine/notes/set-notes.ts';
import { isFree, lockIn, LockWatch, newLock, ownLocks, renewed, whoAmI, type Lock } from '../../engine/notes/lock.ts';
import { Task } from '../tasks/task.ts';
import type { HostLink } from './host-link.ts';

const ttlMs = 9000;
const beatMs = 2500;
/** Random, so that two controllers do not release their locks at the same time. */
const patienceMs = (): number => 3000 + 3000 * Math.random();

export interface LeaseDeps {
  readonly name: string;
  /** In the order of the hosts file. */
  readonly links: readonly HostLink[];
  readonly nowMs: () => number;
  /** Never set back, unlike `nowMs`: how long locks hold. */
  readonly steadyMs: () => number;
  readonly onChange: (isActive: boolean) => void;
}

export class Lease {
  readonly #id = randomBytes(6).toString('hex');
  readonly #deps: LeaseDeps;
  #claims: readonly Claim[];
  /** While it runs. */
  #end: AbortSignal | undefined;
  #wasActive = false;
  /** Since when this controller has some locks, but too few. */
  #fewSinceMs: number | undefined;
  #patienceMs = patienceMs();
  /** Until then this controller takes no lock and releases those that it has. */
  #restsUntilMs = 0;
  /** Until then another controller may be active through hosts that have no locks any more. */
  #othersUntilMs = 0;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#claims = lockHosts(deps.links).map((link) => this.#claim(link));
  }

  get isActive(): boolean {
    const nowMs = this.#deps.steadyMs();
    return 2 * this.#claims.filter(({ untilMs }) => untilMs > nowMs).length > this.#claims.length;
  }

  /** The active controller, as its lock names it. */
  get holder(): string | undefined {
    return this.isActive
      ? `${whoAmI()} (process ${process.pid})`
      : this.#claims.find(({ isOthers }) => isOthers)?.holder;
  }

  /** Another controller was seen to be active. */
  get isTaken(): boolean {
    return !this.isActive && this.#claims.some(({ isOthers }) => isOthers);
  }

  /** The hosts with a lock. */
  get hosts(): readonly HostLink[] {
    return this.#claims.map(({ link }) => link);
  }

  /** Hosts with a lock that do not answer. */
  get unreachable(): readonly string[] {
    return this.#claims
      .map(({ link }) => link)
      .flatMap(({ host, status }) => (status.status === 'offline' ? host.name : []));
  }

  /** Every lock on a reachable host was asked for. */
  get isDecided(): boolean {
    return this.#claims.every(({ wasAsked, link }) => wasAsked || link.status.status === 'offline');
  }

  /** Ends when `signal` fires, and then releases the locks. */
  async run(signal: AbortSignal): Promise<void> {
    ownLocks.add(this.#id);
    const look = setInterval(() => this.look(), 250);
    this.#end = signal;
    for (const claim of this.#claims) claim.begin(() => this.look(), signal);
    await untilAborted(signal);
    await Promise.all(this.#claims.map((claim) => claim.ended()));
    clearInterval(look);
    ownLocks.delete(this.#id);
  }

  /** Moves the locks to other hosts. The old locks count until each new one was asked for once, so an active controller stays active. */
  async follow(links: readonly HostLink[]): Promise<void> {
    const wanted = lockHosts(links);
    const next = wanted.map((link) => this.#claims.find((claim) => claim.link === link) ?? this.#claim(link));
    const joined = next.filter((claim) => !this.#claims.includes(claim));
    const left = this.#claims.filter((claim) => !next.includes(claim));
    const end = this.#end;
    if (end !== undefined) for (const claim of joined) claim.begin(() => this.look(), end);
    if (end?.aborted === false) {
      const patience = withLimit(end, ttlMs / 2);
      await Promise.race([Promise.all(joined.map((claim) => claim.asked)), untilAborted(patience)]);
    }
    const others = left.map(({ othersUntilMs }) => othersUntilMs);
    if (!this.isActive) this.#othersUntilMs = Math.max(this.#othersUntilMs, ...others);
    this.#claims = next;
    // The same server may be one of the new hosts, under another name or address: its lock must not be released.
    const isElsewhere = ({ link: { host } }: Claim): boolean =>
      !links.some((link) => link.host.name === host.name || link.host.address === host.address);
    await Promise.all(left.map((claim) => claim.leave(isElsewhere(claim))));
    this.look();
  }

  #claim(link: HostLink): Claim {
    return new Claim(link, {
      set: noteSetOf(this.#deps.name),
      id: this.#id,
      nowMs: this.#deps.nowMs,
      steadyMs: this.#deps.steadyMs,
      mayTake: () => this.#mayTake(),
      rests: () => this.#deps.steadyMs() < this.#restsUntilMs,
    });
  }

  #mayTake(): boolean {
    const nowMs = this.#deps.steadyMs();
    if (this.isActive) return true;
    return nowMs >= Math.max(this.#restsUntilMs, this.#othersUntilMs) && !this.isTaken;
  }

  /** Releases the locks for a while when they are too few: they only keep other controllers from becoming active. */
  #giveWay(): void {
    const nowMs = this.#deps.steadyMs();
    const hasSome = this.#claims.some(({ untilMs }) => untilMs > nowMs);
    if (this.isActive || !hasSome) {
      this.#fewSinceMs = undefined;
      return;
    }
    this.#fewSinceMs ??= nowMs;
    if (nowMs - this.#fewSinceMs < this.#patienceMs) return;
    this.#fewSinceMs = undefined;
    this.#patienceMs = patienceMs();
    this.#restsUntilMs = nowMs + beatMs + patienceMs();
  }

  /** Notices now whether this controller is still the active one. */
  look(): void {
    this.#giveWay();
    const { isActive } = this;
    if (isActive === this.#wasActive) return;
    this.#wasActive = isActive;
    this.#deps.onChange(isActive);
  }
}

/** The name under which a controller notes things on hosts. */
export const noteSetOf = (controller: string): string => `controller-${controller}`;

const lockHosts = (links: readonly HostLink[]): readonly HostLink[] => links.slice(0, links.length < 3 ? 1 : 3);

interface ClaimDeps {
  readonly set: string;
  readonly id: string;
  readonly nowMs: () => number;
  readonly steadyMs: () => number;
  /** A free lock may be taken. */
  readonly mayTake: () => boolean;
  /** An own lock is released. */
  readonly rests: () => boolean;
}

/** The lock on one host. */
class Claim {
  readonly link: HostLink;
  /** Resolves when the lock was asked for once. */
  readonly asked: Promise<void>;
  wasAsked = false;
  readonly #deps: ClaimDeps;
  readonly #watch: LockWatch;
  /** By the steady clock of this process; counted from before the write. */
  untilMs = 0;
  /** Another controller has the lock until then, as far as this one knows. */
  othersUntilMs = 0;
  holder: string | undefined;
  #noteAsked = (): void => {};
  #task: Task | undefined;
  #isKept = false;

  constructor(link: HostLink, deps: ClaimDeps) {
    this.link = link;
    this.asked = new Promise((resolve) => (this.#noteAsked = resolve));
    this.#deps = deps;
    this.#watch = new LockWatch(ttlMs / 3 + 1000, deps.steadyMs);
  }

  get isOthers(): boolean {
    return this.othersUntilMs > this.#deps.steadyMs();
  }

  begin(onBeat: () => void, end: AbortSignal): void {
    this.#task ??= new Task(end, (signal) => this.#run(onBeat, signal));
  }

  async ended(): Promise<void> {
    await this.#task?.ended();
  }

  async leave(isGivenBack: boolean): Promise<void> {
    this.#isKept = !isGivenBack;
    await this.#task?.end('the lock is on other hosts');
  }

  async #run(onBeat: () => void, signal: AbortSignal): Promise<void> {
    const { steadyMs } = this.#deps;
    while (!signal.aborted) {
      if (this.link.isOnline) {
        await this.#beat().catch(() => undefined);
        this.wasAsked = true;
        this.#noteAsked();
      }
      onBeat();
      await pause(this.untilMs > steadyMs() ? beatMs : 500, signal).catch(() => undefined);
    }
    if (!this.#isKept && this.untilMs > steadyMs()) await this.#release().catch(() => undefined);
    this.untilMs = 0;
  }

  async #beat(): Promise<void> {
    const { id, nowMs, steadyMs, mayTake, rests } = this.#deps;
    const beganMs = steadyMs();
    const atMs = nowMs();
    let isOurs = false;
    await this.#change((found) => {
      isOurs = false;
      if (found?.id === id) {
        if (rests()) return 'none';
        isOurs = true;
        return renewed(found, atMs, ttlMs);
      }
      const isTaken =
        found !== undefined && !isFree(found, this.#watch, atMs) && !this.#watch.isUnrenewed(found, ttlMs);
      this.holder = found?.who;
      this.othersUntilMs = isTaken ? beganMs + ttlMs : 0;
      isOurs = !isTaken && mayTake();
      return isOurs ? newLock(id, atMs, ttlMs) : undefined;
    });
    this.untilMs = isOurs ? beganMs + ttlMs : 0;
  }

  #release(): Promise<void> {
    return this.#change((found) => (found?.id === this.#deps.id ? 'none' : undefined));
  }

  async #change(decide: (found: Lock | undefined) => Lock | 'none' | undefined): Promise<void> {
    const { set } = this.#deps;
    const notes = new SetNotes(this.link.client, set, this.link.host.project);
    await changeNotes(
      { notes, pause },
      (config) => {
        const next = decide(lockIn(config, set));
        return next === undefined ? undefined : { [lockKey(set)]: next === 'none' ? '' : JSON.stringify(next) };
      },
      AbortSignal.timeout(ttlMs / 3),
    );
  }
}
