// Suspensions and approvals by people. They survive restarts, since they are stored in the state directory and on the hosts with
// the lock. Approvals count only as these hosts have them: no edit of the state directory makes one.
import { randomBytes } from 'node:crypto';
import type { SuspendRequest, Suspension } from '../contract/index.ts';
import { isCurrentForm, type Approval } from '../decide/approval.ts';
import { isActive } from '../decide/suspensions.ts';
import { emptyNote, type AskedNote, type AskedPlace } from '../hosts/asked-notes.ts';
import { readState, StateFile } from './state-file.ts';

type Change = (note: AskedNote) => Pick<AskedNote, 'suspensions' | 'approvals'>;

export class Asked {
  readonly #file: string;
  /** Written by a version that stored only suspensions. */
  readonly #oldFile: string | undefined;
  readonly #store: StateFile;
  readonly #hosts: AskedPlace;
  #note = emptyNote;
  /** The note as it was read; `#early` has the changes since then, until the notes on the hosts are read. */
  #base = emptyNote;
  readonly #early: Change[] = [];
  #isRecalled = false;
  #isNoted = true;
  #working: Promise<void> = Promise.resolve();

  constructor(file: string, hosts: AskedPlace, oldFile?: string) {
    this.#file = file;
    this.#oldFile = oldFile;
    this.#store = new StateFile(file);
    this.#hosts = hosts;
  }

  /** Reads the state directory, again when another process may have written it; `recall` then compares it with the hosts. */
  async load(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#early.length > 0) return;
      const found = ((await readState(this.#file)) ?? (await this.#old())) as Partial<AskedNote> | undefined;
      // Approvals come only from the hosts.
      this.#base = { n: found?.n ?? 0, suspensions: found?.suspensions ?? [], approvals: [] };
      this.#note = this.#base;
      this.#isRecalled = false;
    });
  }

  async #old(): Promise<Partial<AskedNote>> {
    const found = this.#oldFile === undefined ? undefined : await readState(this.#oldFile, Array.isArray);
    return found === undefined ? {} : { n: 1, suspensions: found as Suspension[] };
  }

  /**
   * Called when this controller becomes active: takes the newest note, here or on the hosts. Rejects unless most hosts with a lock answer.
   * Returns the approvals of older versions, which end here: a secret could be guessed from their digests.
   */
  async recall(): Promise<readonly Approval[]> {
    let older: readonly Approval[] = [];
    await this.#inTurn(async () => {
      const noted = await this.#hosts.read();
      const newest = noted === undefined || noted.n < this.#base.n ? undefined : noted;
      const all = newest ?? { ...this.#base, approvals: noted?.approvals ?? [] };
      older = all.approvals.filter((one) => !isCurrentForm(one));
      const base = older.length === 0 ? all : { ...all, approvals: all.approvals.filter(isCurrentForm) };
      const changed = this.#early.reduce((note, change) => ({ ...note, ...change(note) }), base);
      const isSame = changed === newest || changed.n === 0;
      const next = isSame ? changed : { ...changed, n: Math.max(changed.n, noted?.n ?? 0) + 1 };
      await this.#store.write(next);
      this.#note = next;
      this.#base = next;
      this.#early.length = 0;
      this.#isRecalled = true;
      this.#isNoted = isSame;
    });
    await this.noteAgain();
    return older;
  }

  /** Called when other hosts have the locks. */
  moved(): void {
    this.#isNoted = this.#note.n === 0;
  }

  /** Writes what the hosts could not take before. */
  async noteAgain(): Promise<void> {
    if (this.#isNoted || !this.#isRecalled) return;
    await this.#inTurn(async () => {
      await this.#hosts.write(this.#note);
      this.#isNoted = true;
    });
  }

  /** Returns the suspensions of the set that have not ended. */
  of(set: string, nowMs: number): readonly Suspension[] {
    return this.#note.suspensions.filter((one) => one.set === set && isActive(one, nowMs));
  }

  approvalsOf(set: string, nowMs: number): readonly Approval[] {
    return this.#note.approvals.filter((one) => one.set === set && isActive(one, nowMs));
  }

  async add(set: string, request: SuspendRequest, by: string, nowMs: number): Promise<Suspension> {
    const id = randomBytes(6).toString('hex');
    const made: Suspension = { id, set, ...request, by, since: new Date(nowMs).toISOString() };
    await this.#change((note) => ({
      ...current(note, nowMs),
      suspensions: [...current(note, nowMs).suspensions, made],
    }));
    return made;
  }

  /** Ends one, or all of the set. */
  async end(set: string, id: string | undefined): Promise<readonly Suspension[]> {
    const isSelected = (one: Suspension): boolean => one.set === set && (id === undefined || one.id === id);
    const ended = this.#note.suspensions.filter(isSelected);
    if (ended.length > 0)
      await this.#change((note) => ({ ...note, suspensions: note.suspensions.filter((one) => !isSelected(one)) }));
    return ended;
  }

  /** Rejects unless most of the hosts with a lock store it. `isStill` throws when the plan is no longer the one that was shown. */
  async approve(approval: Approval, nowMs: number, isStill: () => void): Promise<void> {
    await this.#inTurn(async () => {
      isStill();
      const now = current(this.#note, nowMs);
      const next = { ...now, n: this.#note.n + 1, approvals: [...now.approvals, approval] };
      try {
        await this.#hosts.write(next);
      } catch (error) {
        // Some hosts may have stored it: the next note replaces theirs, and the next beat writes it.
        this.#note = { ...this.#note, n: next.n + 1 };
        this.#isNoted = false;
        throw error;
      }
      this.#note = next;
      this.#isNoted = true;
      await this.#store.write(next);
    });
  }

  /** A change takes effect once it is stored. Changes run one after the other, so that none is lost. */
  async #change(change: Change): Promise<void> {
    await this.#inTurn(async () => {
      const next = { ...this.#note, ...change(this.#note), n: this.#note.n + 1 };
      await this.#store.write(next);
      this.#note = next;
      this.#isNoted = false;
      if (!this.#isRecalled) this.#early.push(change);
    });
    // The next beat tries again.
    await this.noteAgain().catch(() => undefined);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#working.catch(() => undefined).then(work);
    this.#working = turn;
    return turn;
  }
}

const current = (note: AskedNote, nowMs: number): AskedNote => ({
  ...note,
  suspensions: note.suspensions.filter((one) => isActive(one, nowMs)),
  approvals: note.approvals.filter((one) => isActive(one, nowMs)),
});
