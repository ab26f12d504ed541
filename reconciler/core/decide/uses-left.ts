// The uses that are left after the steps of a plan, while its deletions are decided one after the other. Pure.
import type { Observed } from '../documents/observed.ts';
import type { Address } from '../documents/document.ts';
import { findUsage, type Usage } from '../live/usage.ts';
import { projectWorld } from '../live/world-after-steps.ts';
import type { Step } from '../plan/plan.ts';

export class UsesLeft {
  readonly #observed: Observed;
  readonly #steps: Step[];
  readonly #gone = new Set<string>();
  #usage: Usage;
  #isOutdated = false;

  constructor(observed: Observed, steps: readonly Step[]) {
    this.#observed = observed;
    this.#steps = [...steps];
    this.#usage = findUsage(projectWorld(observed, steps));
  }

  of(used: Address): readonly string[] {
    const left = this.#left(used);
    if (left.length === 0 || !this.#isOutdated) return left;
    this.#usage = findUsage(projectWorld(this.#observed, this.#steps));
    this.#isOutdated = false;
    return this.#left(used);
  }

  #left(used: Address): readonly string[] {
    return (this.#usage.get(used) ?? []).filter((user) => !this.#gone.has(user));
  }

  /** The steps of one more object. */
  add(steps: readonly Step[]): void {
    this.#steps.push(...steps);
    const last = steps.at(-1);
    if (last?.action === 'delete') this.#gone.add(last.address);
    // What is taken out of an object that stays, such as the devices of the default profile.
    else if (steps.some((step) => step.action === 'update' && step.edits.length > 0)) this.#isOutdated = true;
  }
}
