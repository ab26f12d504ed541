// Makes one of several controllers of one name the active one: the one that holds the lock of the set `controller-NAME` on most of up to three
// hosts. A lock is renewed every few seconds, and another controller takes it over when its holder is gone.
import { randomBytes } from 'node:crypto';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { lockKey } from '../../core/ownership/set-state.ts';
import { changeNotes } from '../../engine/notes/notes.ts';
import { SetNotes } from '../../engine/notes/set-notes.ts';
import { held, isFree, lockIn, LockWatch, newLock, renewed, type Lock } from '../../engine/runs/lock.ts';
import { firing, Task } from '../reload/task.ts';
import type { HostLink } from './host-link.ts';

const ttlMs = 9000;
const beatMs = 2500;

export interface LeaseDeps {
  readonly name: string;
  /** In the order of the hosts file. */
  readonly links: readonly HostLink[];
  readonly nowMs: () => number;
  readonly onChange: (isActive: boolean) => void;
}

export class Lease {
  readonly #id = randomBytes(6).toString('hex');
  readonly #deps: LeaseDeps;
  #claims: readonly Claim[];
  /** While it runs. */
  #end: AbortSignal | undefined;
  #wasActive = false;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#claims = lockHosts(deps.links).map((link) => this.#claim(link));
  }

  get isActive(): boolean {
    const nowMs = this.#deps.nowMs();
    return 2 * this.#claims.filter(({ untilMs }) => untilMs > nowMs).length > this.#claims.length;
  }

  /** The active controller, as its lock says. */
  get holder(): string | undefined {
    return this.#claims.find(({ holder }) => holder !== undefined)?.holder;
  }

  /** Another controller was seen to be active. */
  get isTaken(): boolean {
    return !this.isActive && this.holder !== undefined;
  }

  /** Ends when `signal` fires, and then gives the locks back. */
  async run(signal: AbortSignal): Promise<void> {
    held.add(this.#id);
    const look = setInterval(() => this.#look(), 250);
    this.#end = signal;
    for (const claim of this.#claims) claim.begin(() => this.#look(), signal);
    await firing(signal);
    await Promise.all(this.#claims.map((claim) => claim.ended()));
    clearInterval(look);
    held.delete(this.#id);
  }

  /** Other hosts have the locks now. The old ones decide until each new one was asked for once, so an active controller stays active. */
  async follow(links: readonly HostLink[]): Promise<void> {
    const wanted = lockHosts(links);
    const next = wanted.map((link) => this.#claims.find((claim) => claim.link === link) ?? this.#claim(link));
    const joined = next.filter((claim) => !this.#claims.includes(claim));
    const left = this.#claims.filter((claim) => !next.includes(claim));
    const end = this.#end;
    if (end !== undefined) for (const claim of joined) claim.begin(() => this.#look(), end);
    if (end?.aborted === false) {
      const patience = AbortSignal.any([end, AbortSignal.timeout(ttlMs / 2)]);
      await Promise.race([Promise.all(joined.map((claim) => claim.asked)), firing(patience)]);
    }
    this.#claims = next;
    // The same server may be one of the new hosts, under another name or address: its lock must not be given back.
    const isElsewhere = ({ link: { host } }: Claim): boolean =>
      !links.some((link) => link.host.name === host.name || link.host.address === host.address);
    await Promise.all(left.map((claim) => claim.leave(isElsewhere(claim))));
    this.#look();
  }

  #claim(link: HostLink): Claim {
    return new Claim(link, `controller-${this.#deps.name}`, this.#id, this.#deps.nowMs);
  }

  #look(): void {
    const { isActive } = this;
    if (isActive === this.#wasActive) return;
    this.#wasActive = isActive;
    this.#deps.onChange(isActive);
  }
}

const lockHosts = (links: readonly HostLink[]): readonly HostLink[] => links.slice(0, links.length < 3 ? 1 : 3);

/** The lock on one host. */
class Claim {
  readonly link: HostLink;
  /** Resolves when the lock was asked for once. */
  readonly asked: Promise<void>;
  readonly #set: string;
  readonly #id: string;
  readonly #nowMs: () => number;
  readonly #watch: LockWatch;
  /** By the own clock; counted from before the write. */
  untilMs = 0;
  holder: string | undefined;
  #wasAsked = (): void => {};
  #task: Task | undefined;
  #isKept = false;

  constructor(link: HostLink, set: string, id: string, nowMs: () => number) {
    this.link = link;
    this.asked = new Promise((resolve) => (this.#wasAsked = resolve));
    this.#set = set;
    this.#id = id;
    this.#nowMs = nowMs;
    this.#watch = new LockWatch(ttlMs / 3 + 1000, nowMs);
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
    while (!signal.aborted) {
      if (this.link.isOnline) {
        await this.#beat().catch(() => undefined);
        this.#wasAsked();
      }
      onBeat();
      await pause(this.untilMs > this.#nowMs() ? beatMs : 500, signal).catch(() => undefined);
    }
    if (!this.#isKept && this.untilMs > this.#nowMs()) await this.#release().catch(() => undefined);
    this.untilMs = 0;
  }

  async #beat(): Promise<void> {
    const beganMs = this.#nowMs();
    let isOurs = false;
    await this.#change((found) => {
      this.holder = found?.who;
      if (found?.id === this.#id) {
        isOurs = true;
        return renewed(found, beganMs, ttlMs);
      }
      isOurs = found === undefined || isFree(found, this.#watch, beganMs);
      return isOurs ? newLock(this.#id, beganMs, ttlMs) : undefined;
    });
    this.untilMs = isOurs ? beganMs + ttlMs : 0;
  }

  #release(): Promise<void> {
    return this.#change((found) => (found?.id === this.#id ? 'none' : undefined));
  }

  async #change(decide: (found: Lock | undefined) => Lock | 'none' | undefined): Promise<void> {
    const notes = new SetNotes(this.link.client, this.#set, this.link.host.project);
    await changeNotes(
      { notes, pause },
      (config) => {
        const next = decide(lockIn(config, this.#set));
        return next === undefined ? undefined : { [lockKey(this.#set)]: next === 'none' ? '' : JSON.stringify(next) };
      },
      AbortSignal.timeout(ttlMs / 3),
    );
  }
}
