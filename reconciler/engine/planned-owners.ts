// The sets that had a record on an object when the plan was made. steps/refuse-taken.ts compares them with those of now.
import type { Address } from '../core/documents/document.ts';
import { recordsIn } from '../core/ownership/owner-records.ts';
import type { Plan } from '../core/plan/plan.ts';

export class PlannedOwners {
  readonly #plan: Pick<Plan, 'changes' | 'set'>;
  #lives: ReadonlyMap<Address, object> | undefined;

  constructor(plan: Pick<Plan, 'changes' | 'set'>) {
    this.#plan = plan;
  }

  /** Undefined: it was not there. */
  of(address: Address): ReadonlySet<string> | undefined {
    const { changes, set } = this.#plan;
    this.#lives ??= new Map(
      changes.flatMap((change) => (change.live === undefined ? [] : [[change.address, change.live]])),
    );
    const live = this.#lives.get(address);
    return live === undefined ? undefined : new Set([...recordsIn(live).keys(), ...(set === undefined ? [] : [set])]);
  }
}
