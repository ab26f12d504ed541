// Reads objects with their ETag, and deletes them, for the kinds that the client knows. Their resources know the content.
import type { KindName } from '../../../server/api/kinds.ts';
import type { Link } from '../../connection/link.ts';
import type { ReadTypes } from '../../connection/reader.ts';
import type { Context } from '../../framework/object-type.ts';
import { keepEtag, performDelete } from './write.ts';

/** Undefined when it does not exist. */
export async function readKind<K extends KindName>(
  { client, privateData, signal }: Context<Link>,
  kind: K,
  name: string,
): Promise<ReadTypes[K] | undefined> {
  const seen = await client.reader.read(kind, name, signal);
  if (seen !== undefined) keepEtag(privateData, seen);
  return seen?.object;
}

export const deleteKind = (context: Context<Link>, kind: KindName, name: string): Promise<void> =>
  performDelete(context, () => context.client.client.delete(kind, name, context.signal));
