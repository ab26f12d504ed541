// Reads, changes and deletes objects by their path in the API, with their ETag. Their resources know the content.
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { Link } from '../../connection/link.ts';
import type { Context } from '../../framework/object-type.ts';
import { edit, performDelete, type Edit } from './write.ts';

export const segment = encodeURIComponent;

/** Undefined when it does not exist. */
export async function readPath<T>(context: Context<Link>, path: string): Promise<Reply<T> | undefined> {
  try {
    return await context.client.client.http.send<T>({ method: 'GET', path }, context.signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Reads and writes with the provider's project as the only query parameter. */
export function editPath<O, B>(
  context: Context<Link>,
  what: string,
  path: string,
  change: Pick<Edit<O, B>, 'body' | 'changedSince'>,
): Promise<O> {
  const { http } = context.client.client;
  return edit<O, B>(context, {
    what,
    get: () => http.send<O>({ method: 'GET', path }, context.signal),
    put: (json, ifMatch) =>
      http.send({ method: 'PUT', path, json, ...(ifMatch === undefined ? {} : { ifMatch }) }, context.signal),
    ...change,
  });
}

export const deletePath = (context: Context<Link>, path: string): Promise<void> =>
  performDelete(context, () => context.client.client.http.send({ method: 'DELETE', path, json: {} }, context.signal));
