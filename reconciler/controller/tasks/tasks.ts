// The tasks of several parts: each ends with the controller, or earlier when the configuration drops its part.
import { Task } from './task.ts';

export class Tasks {
  readonly #end: AbortSignal;
  readonly #tasks = new Map<object, Task>();

  constructor(end: AbortSignal) {
    this.#end = end;
  }

  has(part: object): boolean {
    return this.#tasks.has(part);
  }

  begin(part: object, work: (signal: AbortSignal) => Promise<unknown>): void {
    this.#tasks.set(part, new Task(this.#end, work));
  }

  /** Ends the task of one part after its running step. */
  async end(part: object | undefined, why: string): Promise<void> {
    if (part === undefined) return;
    await this.#tasks.get(part)?.end(why);
    this.#tasks.delete(part);
  }

  /** Resolves when the work of all parts has ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#tasks.values()].map((task) => task.ended()));
  }
}
