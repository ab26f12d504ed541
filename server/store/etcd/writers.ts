// Many writers of one store: each has a fence, which the others can take away from it.
import { randomUUID } from 'node:crypto';
import { StoreError } from '../store.ts';
import { Fence, fencedOutBy, fenceValue } from './fence.ts';
import type { Keyspace } from './keyspace.ts';
import type { EtcdLink } from './link.ts';
import type { EtcdCompare, KeyValue } from './messages.ts';

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Throws StoreError Invalid. */
export function checkWriterId(id: string): void {
  if (!idPattern.test(id))
    throw new StoreError(
      'Invalid',
      `${JSON.stringify(id)} is no id of a writer: use 1 to 63 letters, digits, ".", "_" or "-"`,
    );
}

/** Shuts out an earlier process with the same id. */
export async function takeFence(link: EtcdLink, keyspace: Keyspace, id: string, holder: string): Promise<Fence> {
  checkWriterId(id);
  const key = keyspace.fence(id);
  const value = fenceValue({ owner: randomUUID(), holder });
  for (let attempt = 0; ; attempt += 1) {
    const found = await read(link, key);
    // An earlier attempt succeeded, but its answer was lost.
    if (found?.value.equals(value) === true) return new Fence(link, found, value);
    const { succeeded, header } = await put(link, key, value, [unchanged(key, found)]);
    if (succeeded) return new Fence(link, { key, modRevision: header.revision }, value);
    await link.pause(attempt);
  }
}

/** Frees the fence for the next process with the same id. Has no effect if another process has it. */
export async function giveFenceBack(link: EtcdLink, { key, owner }: Fence): Promise<void> {
  if (owner === undefined) return;
  const compare: EtcdCompare[] = [{ result: 'EQUAL', target: 'VALUE', key, value: owner }];
  await link.attempt('Txn', { compare, success: [{ requestDeleteRange: { key } }], failure: [] });
}

/** Resolves once the process with this writer id can write nothing more. Compares, so that a delayed attempt does not harm a later process.
 *  Throws Locked if this store was itself shut out. */
export async function fenceOut(
  link: EtcdLink,
  keyspace: Keyspace,
  own: Fence,
  other: { readonly id: string; readonly by: string },
): Promise<void> {
  checkWriterId(other.id);
  const key = keyspace.fence(other.id);
  if (key.equals(own.key)) throw new StoreError('Invalid', 'a writer cannot shut itself out of the store');
  for (let attempt = 0; ; attempt += 1) {
    const found = await read(link, key);
    if (found === undefined || fencedOutBy(found.value) !== undefined) return;
    const value = fenceValue({ owner: randomUUID(), fencedOutBy: other.by });
    const mine: EtcdCompare = { result: 'EQUAL', target: 'MOD', key: own.key, modRevision: own.revision };
    if ((await put(link, key, value, [mine, unchanged(key, found)])).succeeded) return;
    own.adopt(await read(link, own.key));
    await link.pause(attempt);
  }
}

async function read(link: EtcdLink, key: Buffer): Promise<KeyValue | undefined> {
  return (await link.call('Range', { key })).kvs[0];
}

const put = (link: EtcdLink, key: Buffer, value: Buffer, compare: readonly EtcdCompare[]) =>
  link.call('Txn', { compare, success: [{ requestPut: { key, value } }], failure: [] });

const unchanged = (key: Buffer, found: KeyValue | undefined): EtcdCompare => {
  return { result: 'EQUAL', target: 'MOD', key, modRevision: Number(found?.modRevision ?? 0) };
};
