// Selects the next step of a plan, and drops the dependents of a failed step. Keeps the order of the plan and takes time linear in the
// number of steps and dependencies. Performs nothing.
import type { Step } from '../core/plan/plan.ts';

/** The queue of one run. Each step waits, and is then either taken or dropped. */
export class StepQueue {
  readonly #steps: readonly Step[];
  readonly #index: ReadonlyMap<string, number>;
  readonly #dependents = new Map<string, string[]>();
  /** Number of unfinished dependencies. */
  readonly #missing = new Map<string, number>();
  /** Positions in the plan, in descending order. */
  readonly #ready: number[] = [];
  readonly #waiting: Set<string>;

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#index = new Map(steps.map(({ id }, index) => [id, index]));
    this.#waiting = new Set(this.#index.keys());
    for (const { id, needs } of steps) {
      const distinct = new Set(needs);
      this.#missing.set(id, distinct.size);
      for (const need of distinct) {
        const others = this.#dependents.get(need);
        if (others === undefined) this.#dependents.set(need, [id]);
        else others.push(id);
      }
      if (distinct.size === 0) this.#makeReady(id);
    }
  }

  /** Takes the first step whose dependencies are done. */
  take(): Step | undefined {
    for (let index = this.#ready.pop(); index !== undefined; index = this.#ready.pop()) {
      const step = this.#steps[index];
      if (step !== undefined && this.#waiting.delete(step.id)) return step;
    }
    return undefined;
  }

  done(id: string): void {
    for (const dependent of this.#dependents.get(id) ?? []) {
      const left = (this.#missing.get(dependent) ?? 0) - 1;
      this.#missing.set(dependent, left);
      if (left === 0) this.#makeReady(dependent);
    }
  }

  /** Drops all direct and indirect dependents and returns them in the order of the plan. */
  dropDependents(id: string): readonly Step[] {
    const found = new Set<string>();
    const look = [id];
    for (let at = look.pop(); at !== undefined; at = look.pop()) {
      for (const dependent of this.#dependents.get(at) ?? []) {
        if (!this.#waiting.delete(dependent)) continue;
        found.add(dependent);
        look.push(dependent);
      }
    }
    return this.#inOrder(found);
  }

  dropAll(): readonly Step[] {
    const left = this.#inOrder(this.#waiting);
    this.#waiting.clear();
    return left;
  }

  #inOrder(ids: ReadonlySet<string>): readonly Step[] {
    return ids.size === 0 ? [] : this.#steps.filter((step) => ids.has(step.id));
  }

  #makeReady(id: string): void {
    const index = this.#index.get(id) ?? 0;
    let [low, high] = [0, this.#ready.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ready[middle] ?? 0) > index) low = middle + 1;
      else high = middle;
    }
    this.#ready.splice(low, 0, index);
  }
}
