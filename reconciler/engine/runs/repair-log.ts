// Counts recent repairs of each object, so that a continuous reconciler pauses for an object that something keeps changing back.
import type { Address, Document } from '../../core/documents/document.ts';
import { repairPauseMs } from '../../core/drift/repair-pace.ts';

interface RepairTimes {
  /** The document at that time. */
  readonly wanted: string;
  /** Oldest first. */
  readonly times: readonly number[];
}

/** More repairs would not make the pause longer. */
const maxTimes = 12;

export class RepairLog {
  readonly #repaired = new Map<Address, RepairTimes>();
  #wanted: ReadonlyMap<Address, Document> = new Map();

  /** Takes new documents. An object whose document changed starts without repairs. */
  declare(documents: readonly Document[]): void {
    this.#wanted = new Map(documents.map((document) => [document.address, document]));
  }

  /** Objects that are paused, with the remaining time in ms. */
  resting(addresses: Iterable<Address>, nowMs: number): ReadonlyMap<Address, number> {
    const found = new Map<Address, number>();
    for (const address of addresses) {
      const repaired = this.#repaired.get(address);
      const rest = repaired === undefined || this.isNew(address) ? 0 : repairPauseMs(repaired.times, nowMs);
      if (rest > 0) found.set(address, rest);
    }
    return found;
  }

  /** Whether the current document of the object was never repaired. */
  isNew(address: Address): boolean {
    return this.#repaired.get(address)?.wanted !== this.#textOf(address);
  }

  count(address: Address): number {
    return this.#repaired.get(address)?.times.length ?? 0;
  }

  note(addresses: Iterable<Address>, nowMs: number): void {
    for (const address of addresses) {
      const times = this.isNew(address) ? [] : (this.#repaired.get(address)?.times ?? []);
      this.#repaired.set(address, { wanted: this.#textOf(address), times: [...times, nowMs].slice(-maxTimes) });
    }
  }

  #textOf(address: Address): string {
    const document = this.#wanted.get(address);
    return document === undefined ? '' : JSON.stringify(document);
  }
}
