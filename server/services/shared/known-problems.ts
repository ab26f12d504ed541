// What is wrong with objects of one kind, by name, for whoever looks at them again and again: the log has a line when that changes, not one
// for each look.
import type { Log } from '../../lib/log.ts';

export class KnownProblems {
  readonly #log: Pick<Log, 'error'>;
  readonly #byName = new Map<string, string>();

  constructor(log: Pick<Log, 'error'>) {
    this.#log = log;
  }

  get byName(): ReadonlyMap<string, string> {
    return this.#byName;
  }

  /** `problem`: a sentence. */
  note(name: string, problem: string): void {
    if (this.#byName.get(name) !== problem) this.#log.error(problem);
    this.#byName.set(name, problem);
  }

  /** True when there was a problem. */
  forget(name: string): boolean {
    return this.#byName.delete(name);
  }
}
