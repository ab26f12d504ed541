// Which of several controllers of one name is active: the one that holds the lock of the set `controller-NAME` on most of up to three
// hosts. A lock is renewed every few seconds, and another controller takes it over when its holder is gone.
import { randomBytes } from 'node:crypto';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { lockKey } from '../../core/ownership/set-state.ts';
import { changeNotes } from '../../engine/notes/notes.ts';
import { SetNotes } from '../../engine/notes/set-notes.ts';
import { held, isFree, lockIn, LockWatch, newLock, renewed, type Lock } from '../../engine/runs/lock.ts';
import type { HostLink } from './host-link.ts';

const ttlMs = 9000;
const beatMs = 2500;

export interface LeaseDeps {
  readonly name: string;
  readonly links: readonly HostLink[];
  readonly nowMs: () => number;
  readonly onChange: (isActive: boolean) => void;
}

export class Lease {
  readonly #id = randomBytes(6).toString('hex');
  readonly #deps: LeaseDeps;
  readonly #claims: readonly Claim[];
  #wasActive = false;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    const { links } = deps;
    const set = `controller-${deps.name}`;
    this.#claims = links.slice(0, links.length < 3 ? 1 : 3).map((link) => new Claim(link, set, this.#id, deps.nowMs));
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
    await Promise.all(this.#claims.map((claim) => claim.run(() => this.#look(), signal)));
    clearInterval(look);
    held.delete(this.#id);
  }

  #look(): void {
    const { isActive } = this;
    if (isActive === this.#wasActive) return;
    this.#wasActive = isActive;
    this.#deps.onChange(isActive);
  }
}

/** The lock on one host. */
class Claim {
  readonly #link: HostLink;
  readonly #set: string;
  readonly #id: string;
  readonly #nowMs: () => number;
  readonly #watch: LockWatch;
  /** By the own clock; counted from before the write. */
  untilMs = 0;
  holder: string | undefined;

  constructor(link: HostLink, set: string, id: string, nowMs: () => number) {
    this.#link = link;
    this.#set = set;
    this.#id = id;
    this.#nowMs = nowMs;
    this.#watch = new LockWatch(ttlMs / 3 + 1000, nowMs);
  }

  async run(onBeat: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#link.isOnline) await this.#beat().catch(() => undefined);
      onBeat();
      await pause(this.untilMs > this.#nowMs() ? beatMs : 500, signal).catch(() => undefined);
    }
    if (this.untilMs > this.#nowMs()) await this.#release().catch(() => undefined);
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
    const notes = new SetNotes(this.#link.client, this.#set, this.#link.host.project);
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
