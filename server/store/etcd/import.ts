// Fills a store in etcd from elsewhere: it refuses others until the import is finished, and is a new store then.
import { randomUUID } from 'node:crypto';
import { StoreError, storeLimits } from '../store.ts';
import type { Keyspace } from './keyspace.ts';
import type { EtcdLink } from './link.ts';
import type { Reader } from './reader.ts';
import { type StoreMeta, writeMeta } from './store-meta.ts';
import type { Writer } from './writer.ts';

export interface ImportDeps {
  readonly link: EtcdLink;
  readonly keyspace: Keyspace;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly meta: StoreMeta;
}

/** Empties the store. Without `replace`, throws Invalid if it has records. */
export async function beginImport(deps: ImportDeps, replace: boolean): Promise<StoreMeta> {
  const { link, keyspace, reader, writer, meta } = deps;
  const { records } = await reader.count();
  if (records > 0 && !replace && meta.state === 'ready') {
    throw new StoreError('Invalid', `the store ${keyspace.name} in etcd is not empty: it has ${records} records`);
  }
  const importing = await writeMeta(link, keyspace, { ...meta, state: 'importing' });
  for (;;) {
    const page = await reader.range('', { limit: storeLimits.opsPerTxn });
    if (page.records.length === 0) return importing;
    const deletes = page.records.map(({ key }) => ({ del: key }));
    await writer.write([], deletes);
  }
}

export async function finishImport({ link, keyspace, meta }: ImportDeps): Promise<StoreMeta> {
  return await writeMeta(link, keyspace, { ...meta, storeUuid: randomUUID(), epoch: meta.epoch + 1, state: 'ready' });
}
