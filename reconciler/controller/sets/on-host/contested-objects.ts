// The objects of a host that something keeps changing back: each repair makes the next one wait longer.
import type { Address, Document } from '../../../core/documents/document.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import { RepairLog } from '../../../engine/runs/repair-log.ts';
import type { SetOnHostDeps } from './host-target.ts';

/** Why each object is left alone for now. */
export type RestingObjects = ReadonlyMap<string, string>;

export interface ContestedDeps extends Pick<SetOnHostDeps, 'log' | 'nowMs'> {
  /** Asks for a further comparison. */
  readonly look: () => void;
}

export class ContestedObjects {
  readonly #deps: ContestedDeps;
  readonly #host: string;
  readonly #repairs = new RepairLog();
  /** The objects that the last comparison left alone. */
  #resting = '';

  constructor(deps: ContestedDeps, host: string) {
    this.#deps = deps;
    this.#host = host;
  }

  declare(documents: readonly Document[]): void {
    this.#repairs.declare(documents);
  }

  repaired(made: MadePlan): void {
    this.#repairs.note(addressesOf(made), this.#deps.nowMs());
  }

  /** Asks for a comparison when the first of them may be repaired again. */
  restingIn(made: MadePlan): RestingObjects {
    const { look, nowMs } = this.#deps;
    const resting = this.#repairs.resting(addressesOf(made), nowMs());
    if (resting.size > 0) setTimeout(look, Math.min(...resting.values()) + 5).unref();
    this.#log([...resting.keys()]);
    const reason = 'something keeps changing it back; it is repaired later';
    return new Map([...resting.keys()].map((address) => [address, reason]));
  }

  #log(addresses: readonly Address[]): void {
    const text = addresses.join(', ');
    if (text !== '' && text !== this.#resting) {
      const times = Math.max(...addresses.map((address) => this.#repairs.count(address)));
      const why = `something keeps changing them back; repaired ${times} times, and again later`;
      this.#deps.log('warn', `${text} differ: ${why}`, this.#host);
    }
    this.#resting = text;
  }
}

const addressesOf = ({ plan }: MadePlan): ReadonlySet<Address> => new Set(plan.steps.map(({ address }) => address));
