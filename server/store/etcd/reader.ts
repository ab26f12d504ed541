// Reads records: single ones, and ranges in pages of one revision.
import { type RangeOptions, type Rev, StoreError, type StoreRecord } from '../store.ts';
import { unpack } from './envelope.ts';
import { EtcdFailure } from './failure.ts';
import type { Keyspace, Revisions } from './keyspace.ts';
import type { EtcdLink } from './link.ts';
import type { KeyValue } from './messages.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** A page of the largest values is still small enough to hold twice. */
const pageRecords = 1_000;
/** A range restarts if its revision was compacted between two pages. */
const rangeAttempts = 5;

interface Page {
  readonly revision: number;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
}

export class Reader {
  readonly #link: EtcdLink;
  readonly #keyspace: Keyspace;
  readonly #revisions: Revisions;

  constructor(link: EtcdLink, keyspace: Keyspace, revisions: Revisions) {
    this.#link = link;
    this.#keyspace = keyspace;
    this.#revisions = revisions;
  }

  async get(key: string): Promise<StoreRecord | undefined> {
    const { kvs } = await this.#link.call('Range', { key: this.#keyspace.key(key) });
    return kvs[0] && this.record(kvs[0]);
  }

  async range(prefix: string, { limit, after }: RangeOptions): Promise<{ rev: Rev; records: StoreRecord[] }> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#range(prefix, limit ?? Number.POSITIVE_INFINITY, after);
      } catch (error) {
        if (!(error instanceof EtcdFailure) || error.kind !== 'compacted') throw error;
        if (attempt >= rangeAttempts) throw new StoreError('Unavailable', 'etcd is compacted faster than it is read');
      }
    }
  }

  /** Records of a past revision in pages, without those held by leases. */
  async *lasting(revision: number): AsyncGenerator<readonly StoreRecord[]> {
    let after: string | undefined;
    for (;;) {
      const page = await this.#page('', after, pageRecords, revision);
      const records = page.kvs.filter(({ lease }) => lease === '0').map((kv) => this.record(kv));
      if (records.length > 0) yield records;
      after = this.#lastKey(page);
      if (!page.more || after === undefined) return;
    }
  }

  /** Every transaction puts the mark. */
  async lastWrite(): Promise<Rev> {
    const { kvs } = await this.#link.call('Range', { key: this.#keyspace.meta('mark'), keysOnly: true });
    return kvs[0] === undefined ? 0 : this.#revisions.fromEtcd(kvs[0].modRevision);
  }

  /** The number of records, and the current revision. */
  async count(): Promise<{ readonly revision: number; readonly records: number }> {
    const range = this.#keyspace.records('');
    const { header, count } = await this.#link.call('Range', {
      ...(range ?? { key: this.#keyspace.meta('store') }),
      countOnly: true,
    });
    return { revision: Number(header.revision), records: Number(count) };
  }

  /** Throws Corrupt if the checksum does not match. */
  record({ key, value, createRevision, modRevision, version }: KeyValue): StoreRecord {
    const name = this.#keyspace.recordKey(key) ?? key.toString();
    return {
      key: name,
      value: unpack(name, value),
      createRev: this.#revisions.fromEtcd(createRevision),
      modRev: this.#revisions.fromEtcd(modRevision),
      version: Number(version),
    };
  }

  async #range(
    prefix: string,
    limit: number,
    first: string | undefined,
  ): Promise<{ rev: Rev; records: StoreRecord[] }> {
    const records: StoreRecord[] = [];
    let after = first;
    let revision: number | undefined;
    for (;;) {
      const page = await this.#page(prefix, after, Math.min(pageRecords, limit - records.length), revision);
      revision ??= page.revision;
      for (const kv of page.kvs) records.push(this.record(kv));
      after = this.#lastKey(page);
      if (!page.more || after === undefined || records.length >= limit)
        return { rev: this.#revisions.fromEtcd(revision), records };
    }
  }

  async #page(prefix: string, after: string | undefined, limit: number, revision: number | undefined): Promise<Page> {
    const range = this.#keyspace.records(prefix, after);
    if (range === undefined) return { revision: (await this.count()).revision, kvs: [], more: false };
    const request = { ...range, limit, ...withoutUndefined({ revision }) };
    const { header, kvs, more } = await this.#link.call('Range', request);
    return { revision: Number(header.revision), kvs, more };
  }

  #lastKey({ kvs }: Page): string | undefined {
    const last = kvs.at(-1);
    return last && this.#keyspace.recordKey(last.key);
  }
}
