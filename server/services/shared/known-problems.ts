// Current problems of objects of one kind, by name, for repeated checks: logs a problem when it changes, not at each check.
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

  /** True if there was a problem. */
  forget(name: string): boolean {
    return this.#byName.delete(name);
  }
}
