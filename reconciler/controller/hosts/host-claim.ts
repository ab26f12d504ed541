// The claim of this controller on one set on one host: taken with its first run, renewed while it works, released when the set leaves.
import { createHash } from 'node:crypto';
import { pause, withLimit } from '../../../server/lib/shared/deadline.ts';
import { claimKey, stateKey } from '../../core/ownership/set-state.ts';
import { joinedParts } from '../../core/ownership/long-notes.ts';
import { changeNotes, type NotesConfig, type Patch } from '../../engine/notes/notes.ts';
import { SetNotes } from '../../engine/notes/set-notes.ts';
import { whoAmI } from '../../engine/notes/lock.ts';
import type { RunNotes } from '../../engine/runs/set-run.ts';
import type { ControllerConfig } from '../config/config.ts';
import {
  claimBy,
  ClaimedError,
  claimedText,
  claimIn,
  claimMs,
  isSame,
  othersClaim,
  type Claimant,
} from '../decide/set-claim.ts';
import type { HostLink } from './host-link.ts';

const patienceMs = 10_000;

/** `locks`: the hosts that have the lock of the controller. */
export const claimantOf = (
  id: string,
  { name, url }: Pick<ControllerConfig, 'name' | 'url'>,
  locks: readonly Pick<HostLink, 'host'>[],
): Claimant => ({
  id,
  controller: name,
  who: url === undefined ? whoAmI() : `${whoAmI()} (${url})`,
  locks: Object.fromEntries(locks.map(({ host }) => [host.name, hashOf(`${host.name} ${host.address}`)])),
});

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

export interface HostClaimDeps {
  /** The name of the set in the notes on the host. */
  readonly set: string;
  readonly link: Pick<HostLink, 'client' | 'host'>;
  readonly own: () => Claimant;
  readonly nowMs: () => number;
}

export class HostClaim {
  readonly #deps: HostClaimDeps;
  readonly #key: string;
  #renewedMs = -Infinity;

  constructor(deps: HostClaimDeps) {
    this.#deps = deps;
    this.#key = claimKey(deps.set);
  }

  /** Notes of a run that also claim the set. They throw ClaimedError when another controller has claimed it. */
  claiming(notes: RunNotes): RunNotes {
    return {
      opened: (config, plan, run, atMs) => ({
        ...notes.opened(config, plan, run, atMs),
        [this.#key]: this.#claimed(config, atMs),
      }),
      closed: (config, result, isSetRemoved) => ({
        ...notes.closed(config, result, isSetRemoved),
        ...(isSetRemoved && config[this.#key] !== undefined ? { [this.#key]: '' } : {}),
      }),
    };
  }

  /** Throws ClaimedError when another controller has claimed the set; changes nothing. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#change((config) => void this.#claimed(config, this.#deps.nowMs()), signal);
  }

  /** Renews the claim from time to time, also while nothing changes. Leaves a claim of another controller alone. */
  async renew(signal: AbortSignal): Promise<void> {
    const { set, own, nowMs } = this.#deps;
    // After the clock was set back, other controllers would count the claim as one of a wrong clock.
    if (Math.abs(nowMs() - this.#renewedMs) < claimMs / 4) return;
    const atMs = nowMs();
    await this.#change((config) => {
      const found = claimIn(config, this.#key);
      const isOurs = found === undefined ? joinedParts(stateKey(set), config) !== '' : isSame(found, own());
      return isOurs ? { [this.#key]: JSON.stringify(claimBy(own(), found, atMs)) } : undefined;
    }, signal);
    this.#renewedMs = atMs;
  }

  /** Claims the set although another controller has: a person said that the other one no longer works on it. */
  async takeOver(): Promise<void> {
    const { own, nowMs } = this.#deps;
    const claim = (config: NotesConfig): string => JSON.stringify(claimBy(own(), claimIn(config, this.#key), nowMs()));
    await this.#change((config) => ({ [this.#key]: claim(config) }));
  }

  /** Lets other controllers claim the set. */
  async release(): Promise<void> {
    await this.#change((config) => {
      const found = claimIn(config, this.#key);
      return found !== undefined && isSame(found, this.#deps.own()) ? { [this.#key]: '' } : undefined;
    });
  }

  #claimed(config: NotesConfig, atMs: number): string {
    const own = this.#deps.own();
    const found = claimIn(config, this.#key);
    const other = othersClaim(found, own, atMs);
    if (other !== undefined) throw new ClaimedError(claimedText(other, this.#deps.set));
    this.#renewedMs = atMs;
    return JSON.stringify(claimBy(own, found, atMs));
  }

  async #change(decide: (config: NotesConfig) => Patch | undefined, signal?: AbortSignal): Promise<void> {
    const { set, link } = this.#deps;
    const notes = new SetNotes(link.client, set, link.host.project);
    await changeNotes({ notes, pause }, decide, withLimit(signal, patienceMs));
  }
}
