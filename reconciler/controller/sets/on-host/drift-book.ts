// The drift of a set on one host: which differences are open, since when, by whom, and what became of them.
import { randomBytes } from 'node:crypto';
import type { LifecycleChange } from '../../../core/drift/lifecycle-changes.ts';
import type { DriftRecord } from '../../contract/index.ts';
import type { DriftFinding, DriftOutcome } from '../../decide/judge-drift.ts';

export class DriftBook {
  readonly #host: string;
  readonly #put: (record: DriftRecord) => void;
  readonly #open = new Map<string, DriftRecord>();

  constructor(host: string, put: (record: DriftRecord) => void) {
    this.#host = host;
    this.#put = put;
  }

  /** Open differences of an earlier process, and no others. */
  restore(records: Iterable<DriftRecord>): void {
    this.#open.clear();
    for (const record of records)
      if (record.host === this.#host && record.healedAt === undefined) this.#open.set(record.address, record);
  }

  /** The difference was reported as drift before and is still there. To hold it back, the set gave the key up, so no record shows it. */
  isReported(address: string, path: string): boolean {
    const known = this.#open.get(address);
    return known?.action === 'reported' && known.paths.includes(path);
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** All open differences of a comparison; what is no longer among them is over. Returns the new ones. */
  update(
    found: readonly DriftFinding[],
    seen: ReadonlyMap<string, LifecycleChange>,
    nowMs: number,
  ): readonly DriftRecord[] {
    const still = new Set(found.map(({ object }) => object.address as string));
    for (const address of this.#open.keys()) if (!still.has(address)) this.#close(address, nowMs);
    return found.flatMap(({ object, action }) => {
      const { address } = object;
      const paths = object.differences.map(({ path }) => path).sort();
      const known = this.#open.get(address);
      if (known !== undefined && isSame(known, action, paths)) return [];
      const by = seen.get(address)?.by;
      const record: DriftRecord = {
        id: known?.id ?? randomBytes(6).toString('hex'),
        at: known?.at ?? new Date(nowMs).toISOString(),
        host: this.#host,
        address,
        paths: [...new Set([...(known?.paths ?? []), ...paths])],
        ...(by === undefined ? {} : { by }),
        action,
      };
      this.#open.set(address, record);
      this.#put(record);
      return known === undefined ? [record] : [];
    });
  }

  /** A repair of the object failed. */
  failed(address: string, message: string): void {
    const known = this.#open.get(address);
    if (known === undefined || (known.action === 'failed' && known.message === message)) return;
    const record: DriftRecord = { ...known, action: 'failed', message };
    this.#open.set(address, record);
    this.#put(record);
  }

  #close(address: string, nowMs: number): void {
    const known = this.#open.get(address);
    this.#open.delete(address);
    if (known === undefined) return;
    const isOurs = known.action === 'healing' || known.action === 'failed';
    const healedAt = new Date(nowMs).toISOString();
    const { message: _message, ...rest } = known;
    this.#put(
      isOurs ? { ...rest, action: 'healed', healedAt } : { ...known, healedAt, message: 'It was changed back.' },
    );
  }
}

/** Another try to repair what could not be repaired is no news. */
const isSame = (known: DriftRecord, action: DriftOutcome, paths: readonly string[]): boolean =>
  (known.action === action || (known.action === 'failed' && action === 'healing')) &&
  known.paths.join('\n') === paths.join('\n');
