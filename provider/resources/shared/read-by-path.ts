// Reads, changes and deletes objects by their path in the API, with their ETag. Their resources know the content.
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { Link } from '../../connection/link.ts';
import type { Context } from '../../framework/object-type.ts';
import { edit, performDelete, type Edit } from './write.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const segment = encodeURIComponent;

/** The cluster member, for objects that several members may have under one name. */
export interface Where {
  readonly target?: string;
}

/** Undefined when it does not exist. */
export async function readPath<T>(
  context: Context<Link>,
  path: string,
  query: Where = {},
): Promise<Reply<T> | undefined> {
  try {
    return await context.client.client.http.send<T>({ method: 'GET', path, query: { ...query } }, context.signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Reads and writes with the provider's project and the member as the only query parameters. */
export function editPath<O, B>(
  context: Context<Link>,
  what: string,
  path: string,
  change: Pick<Edit<O, B>, 'body' | 'changedSince'>,
  where: Where = {},
): Promise<O> {
  const { http } = context.client.client;
  const query = { ...where };
  return edit<O, B>(context, {
    what,
    get: () => http.send<O>({ method: 'GET', path, query }, context.signal),
    put: (json, ifMatch) =>
      http.send({ method: 'PUT', path, query, json, ...withoutUndefined({ ifMatch }) }, context.signal),
    ...change,
  });
}

/**
 * Writes the description of a new copy or snapshot: LXD takes that of its origin instead. `rest`: the other members of a write, as they
 * are.
 */
export async function describePath<O extends { readonly description: string }>(
  context: Context<Link>,
  what: string,
  path: string,
  { description, rest }: { readonly description: string; readonly rest: (live: O) => object },
  where: Where = {},
): Promise<void> {
  const found = await readPath<O>(context, path, where);
  if (found === undefined || found.metadata.description === description) return;
  const change = { changedSince: () => [], body: (live: O) => ({ ...rest(live), description }) };
  await editPath<O, object>(context, what, path, change, where);
}

export const deletePath = (context: Context<Link>, path: string, where: Where = {}): Promise<void> =>
  performDelete(context, () =>
    context.client.client.http.send({ method: 'DELETE', path, query: { ...where }, json: {} }, context.signal),
  );
