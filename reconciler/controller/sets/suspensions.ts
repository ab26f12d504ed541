// Suspensions: sets, objects and fields that the controller leaves alone for a time. Kept over restarts.
import { randomBytes } from 'node:crypto';
import { parseIgnore } from '../../core/ownership/ignored-paths.ts';
import type { SuspendRequest, Suspension } from '../http/contract.ts';
import { readState, StateFile } from './state-file.ts';

export class Suspensions {
  readonly #file: string;
  readonly #store: StateFile;
  #all: readonly Suspension[] = [];

  constructor(file: string) {
    this.#file = file;
    this.#store = new StateFile(file);
  }

  async load(): Promise<void> {
    const found = await readState(this.#file);
    this.#all = Array.isArray(found) ? (found as Suspension[]) : [];
  }

  /** Those of the set that have not ended. */
  of(set: string, nowMs: number): readonly Suspension[] {
    return this.#all.filter((one) => one.set === set && isActive(one, nowMs));
  }

  async add(set: string, request: SuspendRequest, by: string, nowMs: number): Promise<Suspension> {
    const id = randomBytes(6).toString('hex');
    const made: Suspension = { id, set, ...request, by, since: new Date(nowMs).toISOString() };
    await this.#replace([...this.#all.filter((one) => isActive(one, nowMs)), made]);
    return made;
  }

  /** Ends one, or all of the set. */
  async end(set: string, id: string | undefined): Promise<readonly Suspension[]> {
    const ended = this.#all.filter((one) => one.set === set && (id === undefined || one.id === id));
    if (ended.length > 0) await this.#replace(this.#all.filter((one) => !ended.includes(one)));
    return ended;
  }

  /** They count once they are stored. */
  async #replace(next: readonly Suspension[]): Promise<void> {
    await this.#store.write(next);
    this.#all = next;
  }
}

const isActive = ({ until }: Suspension, nowMs: number): boolean => until === undefined || Date.parse(until) > nowMs;

/** The suspension of the whole set on the host. */
export const ofHost = (suspensions: readonly Suspension[], host: string): Suspension | undefined =>
  suspensions.find((one) => one.address === undefined && (one.host === undefined || one.host === host));

/** Those of the object on the host; `*` in an address stands for any text. */
export const ofObject = (suspensions: readonly Suspension[], host: string, address: string): readonly Suspension[] =>
  suspensions.filter(
    (one) =>
      one.address !== undefined &&
      (one.host === undefined || one.host === host) &&
      parseIgnore([one.address]).some(({ test }) => test(address)),
  );

/** Time until the first of them ends by itself. */
export function endsInMs(suspensions: readonly Suspension[], nowMs: number): number | undefined {
  const ends = suspensions.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until) - nowMs]));
  return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends));
}
