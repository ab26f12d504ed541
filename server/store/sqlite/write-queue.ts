// Group commit on the main thread: transactions that arrive while a batch is being written form the next batch.
import type { SqliteLink } from './link.ts';
import type { Calls, TxnOutcome, WireTxn } from './protocol.ts';
import { storeErrors } from '../store-errors.ts';
import { type Rev, StoreError } from '../store.ts';

interface QueuedTxn {
  readonly txn: WireTxn;
  readonly bytes: number;
  readonly resolve: (result: { ok: boolean; rev: Rev }) => void;
  readonly reject: (error: unknown) => void;
}

/** One batch is one disk sync and one message; the limit of bytes bounds its memory. */
const batchLimits = { txns: 256, bytes: 4 * 1024 * 1024 };

export interface WriteQueueDeps {
  readonly link: SqliteLink;
  /** Called for every transaction that changed something, in revision order, before its promise resolves. */
  readonly onCommitted: (txn: WireTxn, outcome: Extract<TxnOutcome, { rev: Rev }>) => void;
  readonly onCompactRev: (compactRev: Rev) => void;
}

export class SqliteWriteQueue {
  readonly #deps: WriteQueueDeps;
  #queue: QueuedTxn[] = [];
  #busy = false;
  #idle: (() => void)[] = [];

  constructor(deps: WriteQueueDeps) {
    this.#deps = deps;
  }

  submit(txn: WireTxn): Promise<{ ok: boolean; rev: Rev }> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ txn, bytes: valueBytes(txn), resolve, reject });
      if (this.#busy) return;
      this.#busy = true;
      // Runs after all current code: callers answered by the same batch write together again.
      setImmediate(() => void this.#drain());
    });
  }

  /** Resolves when no transaction is queued or being written. */
  drained(): Promise<void> {
    return this.#busy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#write(this.#takeBatch());
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
    this.#busy = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #takeBatch(): QueuedTxn[] {
    let bytes = 0;
    const end = this.#queue.findIndex((queued, index) => {
      bytes += queued.bytes;
      return index > 0 && (index >= batchLimits.txns || bytes > batchLimits.bytes);
    });
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end);
  }

  async #write(batch: readonly QueuedTxn[]): Promise<void> {
    try {
      const request = { txns: batch.map(({ txn }) => txn) };
      const { outcomes } = await this.#deps.link.call('write', request, (reply) => this.#announce(batch, reply));
      batch.forEach((queued, index) => resolveTxn(queued, outcomes[index]));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  #announce(batch: readonly QueuedTxn[], { outcomes, compactRev }: Calls['write']['reply']): void {
    outcomes.forEach((outcome, index) => {
      const txn = batch[index]?.txn;
      if (txn && 'effects' in outcome && outcome.effects.length > 0) this.#deps.onCommitted(txn, outcome);
    });
    this.#deps.onCompactRev(compactRev);
  }
}

function resolveTxn({ resolve, reject }: QueuedTxn, outcome: TxnOutcome | undefined): void {
  if (outcome === undefined) reject(new StoreError('Unknown', 'the SQLite worker did not answer for a transaction'));
  else if ('noLease' in outcome) reject(storeErrors.noLease(outcome.noLease));
  else resolve({ ok: outcome.ok, rev: outcome.rev });
}

function valueBytes({ ops }: WireTxn): number {
  return ops.reduce((sum, op) => sum + ('put' in op ? op.value.byteLength : 0), 0);
}
