// The record in etcd that makes keys a store: its identity, its epoch, and the revision at which its own revisions start.
import { randomUUID } from 'node:crypto';
import { StoreError } from '../store.ts';
import type { Keyspace } from './keyspace.ts';
import type { EtcdLink } from './link.ts';
import type { KeyValue, RequestOp, TxnRequest } from './messages.ts';

const format = 1;

/** The record's content. */
interface MetaDocument {
  readonly format: number;
  readonly uuid: string;
  /** Counts restores: of two stores the one with the higher epoch is newer. */
  readonly epoch: number;
  /** importing: it is being filled from elsewhere and incomplete. */
  readonly state: 'ready' | 'importing';
}

export interface StoreMeta {
  readonly storeUuid: string;
  readonly epoch: number;
  readonly state: MetaDocument['state'];
  /** etcd's revision at which the store was made. */
  readonly base: number;
  readonly fence: KeyValue;
}

/** Makes the store if there is none. */
export async function openMeta(link: EtcdLink, keyspace: Keyspace): Promise<StoreMeta> {
  const [store, fence] = [keyspace.meta('store'), keyspace.meta('fence')];
  const read: RequestOp[] = [store, fence].map((key) => ({ requestRange: { key } }));
  const made: TxnRequest = {
    compare: [{ result: 'EQUAL', target: 'VERSION', key: store, version: 0 }],
    success: [
      { requestPut: { key: store, value: encode({ uuid: randomUUID(), epoch: 1, state: 'ready' }) } },
      { requestPut: { key: fence, value: Buffer.from('free') } },
    ],
    failure: read,
  };
  const first = await link.call('Txn', made);
  const { responses } = first.succeeded ? await link.call('Txn', { compare: [], success: read, failure: [] }) : first;
  const [metaKv, fenceKv] = responses.map(({ responseRange }) => responseRange?.kvs[0]);
  if (metaKv === undefined || fenceKv === undefined)
    throw new StoreError('Corrupt', `etcd has keys of the store ${keyspace.name}, but not its own record and fence`);
  const { uuid, epoch, state } = decode(metaKv, keyspace);
  return { storeUuid: uuid, epoch, state, base: Number(metaKv.createRevision), fence: fenceKv };
}

/** Only for the store's writer. */
export async function writeMeta(link: EtcdLink, keyspace: Keyspace, meta: StoreMeta): Promise<StoreMeta> {
  const { storeUuid: uuid, epoch, state } = meta;
  const put: RequestOp = { requestPut: { key: keyspace.meta('store'), value: encode({ uuid, epoch, state }) } };
  await link.call('Txn', { compare: [], success: [put], failure: [] });
  return meta;
}

const encode = (document: Omit<MetaDocument, 'format'>): Buffer => Buffer.from(JSON.stringify({ format, ...document }));

function decode({ value }: KeyValue, keyspace: Keyspace): MetaDocument {
  const text = value.toString();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new StoreError('Corrupt', `the record of the store ${keyspace.name} in etcd is not JSON`, { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || !('format' in parsed) || !('uuid' in parsed))
    throw new StoreError('Corrupt', `the record of the store ${keyspace.name} in etcd is not one`);
  if (parsed.format !== format)
    throw new StoreError(
      'Invalid',
      `the store ${keyspace.name} in etcd has format ${String(parsed.format)}, this program knows ${format}`,
    );
  return parsed as MetaDocument;
}
