// Uses etcd records as objects, written by several stores at once like cluster members without their daemons.
import { type EtcdBackend, openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import { StoreError, type StoreRecord } from '../../../server/store/store.ts';
import { text, bytes } from '../../support/store/watching.ts';
import type { Shown, Target } from './clients.ts';
import type { Answered } from './history.ts';

const prefix = '/objects/';

export interface StoreTarget extends Target {
  close(): Promise<void>;
}

/** One store for each member, with the endpoints that it may use. */
export async function openStoreTarget(
  endpointsOf: Readonly<Record<string, readonly string[]>>,
  name: string,
): Promise<StoreTarget> {
  const stores = new Map<string, EtcdBackend>();
  const close = async (): Promise<void> => {
    await Promise.all([...stores.values()].map((store) => store.close()));
  };
  try {
    for (const [member, endpoints] of Object.entries(endpointsOf)) {
      stores.set(member, await openEtcdStore({ endpoints, name, attemptMs: 700 }));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const at = (member: string): EtcdBackend => stores.get(member)!;
  return {
    members: [...stores.keys()],
    close,
    read: async (member, object): Promise<Shown> => {
      const found = await orUnknown(at(member).get(prefix + object));
      if (found === 'unknown') return { outcome: 'unknown' };
      return found === undefined
        ? { outcome: 'ok', saw: undefined }
        : { outcome: 'ok', saw: seenOf(found), tag: String(found.modRev) };
    },
    list: async (member) => {
      const found = await orUnknown(at(member).range(prefix));
      if (found === 'unknown') return undefined;
      return new Map(found.records.map((record) => [record.key.slice(prefix.length), [seenOf(record)]]));
    },
    create: (member, object, value) =>
      answered(at(member).txn([{ key: prefix + object, modRev: 0 }], [put(object, value)])),
    update: (member, object, value, tag) =>
      answered(at(member).txn([{ key: prefix + object, modRev: Number(tag) }], [put(object, value)])),
    delete: async (member, object): Promise<Answered> => {
      const found = await orUnknown(at(member).get(prefix + object));
      if (found === 'unknown') return { outcome: 'failed' };
      if (found === undefined) return { outcome: 'refused' };
      const { outcome } = await answered(
        at(member).txn([{ key: found.key, modRev: found.modRev }], [{ del: found.key }]),
      );
      // A refusal here means that another writer was faster, not that the object was absent.
      return { outcome: outcome === 'refused' ? 'failed' : outcome };
    },
  };
}

const put = (object: string, value: string) => ({ put: prefix + object, value: bytes(value) });
const seenOf = ({ value }: StoreRecord): { value: string } => ({ value: text(value) ?? '' });

async function answered(asked: Promise<{ readonly ok: boolean }>): Promise<Answered> {
  try {
    return { outcome: (await asked).ok ? 'ok' : 'refused' };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.code === 'Unknown') return { outcome: 'unknown' };
    // The store promises that such a write was not applied and never will be.
    if (error.code === 'Unavailable') return { outcome: 'failed' };
    throw error;
  }
}

async function orUnknown<T>(asked: Promise<T>): Promise<T | 'unknown'> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof StoreError && (error.code === 'Unavailable' || error.code === 'Unknown')) return 'unknown';
    throw error;
  }
}
