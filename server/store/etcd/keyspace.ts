// Maps the keys of one store to etcd: /NAME/data/... for records, /NAME/meta/... for the store itself. Pure.
import { StoreError } from '../store.ts';
import type { RangeRequest } from './messages.ts';

export class Keyspace {
  readonly name: string;
  readonly #data: Buffer;

  constructor(name: string) {
    this.name = name;
    this.#data = Buffer.from(`/${name}/data`);
  }

  /** The key of a record. */
  key(key: string): Buffer {
    return Buffer.concat([this.#data, Buffer.from(key)]);
  }

  /** The record's key; undefined for keys of the store itself. */
  recordKey(key: Buffer): string | undefined {
    const { length } = this.#data;
    return key.length > length && key.subarray(0, length).equals(this.#data) ? key.toString('utf8', length) : undefined;
  }

  meta(what: 'store' | 'fence' | 'mark' | 'holder'): Buffer {
    return Buffer.from(`/${this.name}/meta/${what}`);
  }

  /** The fence of one of many writers. */
  fence(writer: string): Buffer {
    return Buffer.from(`/${this.name}/meta/fence/${writer}`);
  }

  /** Every key of the store itself. */
  allMeta(): Required<Pick<RangeRequest, 'key' | 'rangeEnd'>> {
    const key = Buffer.from(`/${this.name}/meta/`);
    return { key, rangeEnd: endOf(key) };
  }

  /** Records whose key starts with `prefix` and comes after `after`; undefined if there can be none. */
  records(prefix: string, after?: string): Required<Pick<RangeRequest, 'key' | 'rangeEnd'>> | undefined {
    const first = this.key(prefix);
    const rangeEnd = endOf(first);
    if (after === undefined) return { key: first, rangeEnd };
    const next = Buffer.concat([this.key(after), Buffer.alloc(1)]);
    const key = Buffer.compare(next, first) > 0 ? next : first;
    return Buffer.compare(key, rangeEnd) < 0 ? { key, rangeEnd } : undefined;
  }
}

/** UTF-8 has no byte 0xff, so raising the last byte of a prefix by one always gives its end. */
function endOf(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

/** The store's revisions start at 0 with the transaction that made it, so that a new store looks the same in an old etcd. etcd starts at 1,
 *  and takes 0 for "now". */
export class Revisions {
  /** etcd's revision at which the store was made. */
  readonly base: number;
  constructor(base: number) {
    this.base = base;
  }

  /** 0, which means absent in a compare, stays 0. */
  toEtcd(rev: number): number {
    return rev === 0 ? 0 : rev + this.base;
  }

  fromEtcd(revision: string | number): number {
    const rev = Number(revision) - this.base;
    if (rev < 0) throw new StoreError('Corrupt', `etcd holds a record of revision ${revision}, older than its store`);
    return rev;
  }
}
