// How often each object was put right lately, so that only one that somebody keeps changing back is left alone for a while.
import type { Address, Document } from '../../core/documents/document.ts';
import { restMs } from '../../core/drift/repair-pace.ts';

interface Repaired {
  /** What was declared of it then. */
  readonly wanted: string;
  /** Oldest first. */
  readonly times: readonly number[];
}

/** More would not make the rest longer. */
const mostTimes = 12;

export class RepairLog {
  readonly #repaired = new Map<Address, Repaired>();
  #wanted: ReadonlyMap<Address, Document> = new Map();

  /** What is declared from now on: an object that is declared otherwise than before begins anew. */
  declare(documents: readonly Document[]): void {
    this.#wanted = new Map(documents.map((document) => [document.address, document]));
  }

  /** Those that are left alone, with for how many ms. */
  resting(addresses: Iterable<Address>, nowMs: number): ReadonlyMap<Address, number> {
    const found = new Map<Address, number>();
    for (const address of addresses) {
      const repaired = this.#repaired.get(address);
      const rest = repaired === undefined || this.isNew(address) ? 0 : restMs(repaired.times, nowMs);
      if (rest > 0) found.set(address, rest);
    }
    return found;
  }

  /** Nothing was done for what is declared of it now. */
  isNew(address: Address): boolean {
    return this.#repaired.get(address)?.wanted !== this.#textOf(address);
  }

  count(address: Address): number {
    return this.#repaired.get(address)?.times.length ?? 0;
  }

  note(addresses: Iterable<Address>, nowMs: number): void {
    for (const address of addresses) {
      const times = this.isNew(address) ? [] : (this.#repaired.get(address)?.times ?? []);
      this.#repaired.set(address, { wanted: this.#textOf(address), times: [...times, nowMs].slice(-mostTimes) });
    }
  }

  #textOf(address: Address): string {
    const document = this.#wanted.get(address);
    return document === undefined ? '' : JSON.stringify(document);
  }
}
