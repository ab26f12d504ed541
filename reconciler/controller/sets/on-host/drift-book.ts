// Records the drift of a set on one host: each difference with its start, author and outcome.
import { randomBytes } from 'node:crypto';
import type { LifecycleChange } from '../../../core/drift/lifecycle-changes.ts';
import type { DriftRecord } from '../../contract/index.ts';
import type { DriftFinding, DriftOutcome } from '../../decide/judge-drift.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export class DriftBook {
  readonly #host: string;
  readonly #put: (record: DriftRecord) => void;
  readonly #open = new Map<string, DriftRecord>();

  constructor(host: string, put: (record: DriftRecord) => void) {
    this.#host = host;
    this.#put = put;
  }

  /** Replaces the open differences by those of an earlier process. */
  restore(records: Iterable<DriftRecord>): void {
    this.#open.clear();
    for (const record of records)
      if (record.host === this.#host && record.healedAt === undefined) this.#open.set(record.address, record);
  }

  /** The difference was reported as drift and is still there. The set no longer owns the key, so no note on the host shows it. */
  isReported(address: string, path: string): boolean {
    const known = this.#open.get(address);
    return known?.action === 'reported' && known.paths.includes(path);
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Takes all open differences of a comparison, and closes those that are not among them. Returns the new ones. */
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
        ...withoutUndefined({ by }),
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

/** A further failed repair of the same difference is no change. */
const isSame = (known: DriftRecord, action: DriftOutcome, paths: readonly string[]): boolean =>
  (known.action === action || (known.action === 'failed' && action === 'healing')) &&
  known.paths.join('\n') === paths.join('\n');
