// The history that etcd still has: which revisions are compacted, and raw watches that resume after a lost connection.
import { EtcdFailure, failureOf, isCancelled } from './failure.ts';
import type { EtcdLink } from './link.ts';
import type { Stream } from './member.ts';
import type { EtcdEvent, RangeRequest, WatchResponse } from './messages.ts';

export interface RawBatch {
  readonly revision: number;
  readonly events: readonly EtcdEvent[];
}

type KeyRange = Required<Pick<RangeRequest, 'key' | 'rangeEnd'>>;

/** Watches throw it if events from their revision on are no longer complete. */
export const compactedFailure = (): EtcdFailure =>
  new EtcdFailure('compacted', 'Compacted', 'etcd has removed the history of that revision');

export class History {
  readonly #link: EtcdLink;
  readonly #anyKey: Buffer;
  /** etcd's last compaction was at this revision or later. */
  #compacted = 0;

  constructor(link: EtcdLink, anyKey: Buffer) {
    this.#link = link;
    this.#anyKey = anyKey;
  }

  /** Revision of etcd's last compaction, 0 before the first. Later events are complete; at that revision deletes are missing. */
  async compacted(): Promise<number> {
    if (await this.isReadable(this.#compacted)) return this.#compacted;
    let [gone, kept] = [Math.max(1, this.#compacted), this.#link.revision];
    while (kept - gone > 1) {
      const middle = Math.floor((gone + kept) / 2);
      if (await this.isReadable(middle)) kept = middle;
      else gone = middle;
    }
    this.#compacted = Math.max(this.#compacted, kept);
    return this.#compacted;
  }

  noteCompacted(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision);
  }

  /** etcd answers for revisions from its last compaction on. */
  async isReadable(revision: number): Promise<boolean> {
    try {
      await this.#link.call('Range', { key: this.#anyKey, countOnly: true, revision: Math.max(1, revision) });
      return true;
    } catch (error) {
      if (error instanceof EtcdFailure && error.kind === 'compacted') return false;
      if (error instanceof EtcdFailure && error.kind === 'future') return true;
      throw error;
    }
  }

  /** Every event from `from` on, whole transactions, in order, each once. Throws EtcdFailure `compacted`. Ends with the signal or the link;
   *  waits while etcd does not answer. */
  async *watch(range: KeyRange, from: number, signal: AbortSignal): AsyncGenerator<RawBatch, void, undefined> {
    let next = from;
    for (let attempt = 0; !signal.aborted && !this.#link.isClosed; attempt += 1) {
      let stream: Stream<'Watch'> | undefined;
      const stop = (): void => stream?.cancel();
      signal.addEventListener('abort', stop, { once: true });
      const endpoint = this.#link.endpoint;
      try {
        stream = await this.#link.open('Watch');
        if (signal.aborted) return;
        // One revision earlier: etcd then also refuses when only the deletes of `next` are gone.
        stream.write({ createRequest: { ...range, startRevision: Math.max(1, next - 1) } });
        for await (const response of stream as AsyncIterable<WatchResponse>) {
          this.#check(response, endpoint);
          attempt = 0;
          for (const batch of batchesOf(response)) {
            if (batch.revision < next) continue;
            next = batch.revision + 1;
            yield batch;
          }
        }
      } catch (error) {
        if (signal.aborted || this.#link.isClosed) return;
        this.#endOrResume(error, endpoint);
      } finally {
        signal.removeEventListener('abort', stop);
        stream?.cancel();
      }
      await this.#link.pause(attempt).catch(() => {});
    }
  }

  #check({ header, canceled, compactRevision, cancelReason }: WatchResponse, endpoint: string): void {
    this.#link.note(header);
    if (!canceled) return;
    if (Number(compactRevision) > 0) {
      this.noteCompacted(Number(compactRevision));
      throw compactedFailure();
    }
    const isDenied = /permission denied/.test(cancelReason);
    throw new EtcdFailure(isDenied ? 'denied' : 'unreachable', 'Unavailable', `etcd at ${endpoint}: ${cancelReason}`);
  }

  #endOrResume(error: unknown, endpoint: string): void {
    if (this.#link.isLost) throw error;
    if (isCancelled(error)) return;
    const failure = error instanceof EtcdFailure ? error : failureOf(error, endpoint);
    if (failure.kind !== 'unreachable' && failure.kind !== 'token') throw failure;
    this.#link.giveUp(failure, endpoint);
  }
}

/** One response may hold several transactions, never a part of one. */
function batchesOf({ events }: WatchResponse): RawBatch[] {
  const batches: { revision: number; events: EtcdEvent[] }[] = [];
  for (const event of events) {
    const revision = Number(event.kv.modRevision);
    const last = batches.at(-1);
    if (last?.revision === revision) last.events.push(event);
    else batches.push({ revision, events: [event] });
  }
  return batches;
}
