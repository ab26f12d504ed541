// Suspensions: sets, objects and fields that the controller leaves alone for a time. Kept over restarts.
import { randomBytes } from 'node:crypto';
import type { SuspendRequest, Suspension } from '../contract/index.ts';
import { isActive } from '../decide/suspensions.ts';
import { readState, StateFile } from './state-file.ts';

export class Suspensions {
  readonly #file: string;
  readonly #store: StateFile;
  #all: readonly Suspension[] = [];
  #working: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
    this.#store = new StateFile(file);
  }

  /** Also again, when another process may have written them. */
  async load(): Promise<void> {
    await this.#inTurn(async () => {
      const found = await readState(this.#file);
      this.#all = Array.isArray(found) ? (found as Suspension[]) : [];
    });
  }

  /** Those of the set that have not ended. */
  of(set: string, nowMs: number): readonly Suspension[] {
    return this.#all.filter((one) => one.set === set && isActive(one, nowMs));
  }

  async add(set: string, request: SuspendRequest, by: string, nowMs: number): Promise<Suspension> {
    const id = randomBytes(6).toString('hex');
    const made: Suspension = { id, set, ...request, by, since: new Date(nowMs).toISOString() };
    await this.#replace((all) => [...all.filter((one) => isActive(one, nowMs)), made]);
    return made;
  }

  /** Ends one, or all of the set. */
  async end(set: string, id: string | undefined): Promise<readonly Suspension[]> {
    const isMeant = (one: Suspension): boolean => one.set === set && (id === undefined || one.id === id);
    const ended = this.#all.filter(isMeant);
    if (ended.length > 0) await this.#replace((all) => all.filter((one) => !isMeant(one)));
    return ended;
  }

  /** They count once they are stored. One change after the other, so that none is lost. */
  #replace(change: (all: readonly Suspension[]) => readonly Suspension[]): Promise<void> {
    return this.#inTurn(async () => {
      const next = change(this.#all);
      await this.#store.write(next);
      this.#all = next;
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#working.catch(() => undefined).then(work);
    this.#working = turn;
    return turn;
  }
}
