// Renames objects in place; objects inside a renamed one are renamed with it.
import { isNotFound } from '../../../server/client/client-error.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context } from '../../framework/object-type.ts';
import { isUnknown, type Value } from '../../framework/value.ts';
import { perform } from './write.ts';

interface Named {
  readonly name: string;
}

/** Nothing when the name is as it was. */
export async function renameKind(context: Context<Link>, kind: KindName, prior: Named, planned: Named): Promise<void> {
  if (planned.name === prior.name) return;
  const { client } = context.client;
  await perform(context, () => client.rename(kind, prior.name, planned.name, context.signal));
}

/** The same for an object that lives at a path of its own, by the name it has there. */
export async function renamePath(context: Context<Link>, path: string, prior: Named, planned: Named): Promise<void> {
  if (planned.name === prior.name) return;
  const json = { name: planned.name };
  await perform(context, () => context.client.client.http.send({ method: 'POST', path, json }, context.signal));
}

interface Owned {
  /** The attribute that names the owner. */
  readonly attribute: string;
  readonly before: string;
  readonly after: Value;
  /** Where the API has the owner of that name. */
  readonly path: (owner: string) => string;
}

/**
 * Whether what an owner has must be made anew in another owner. One that exists under the other name already is another one; one
 * that does not may be this one renamed by the same apply, which then looks.
 */
export async function isOtherOwner(client: Link | undefined, { before, after, path }: Owned): Promise<boolean> {
  // What is known at the apply was not known to the plan, which is kept.
  if (after === before || client?.activity.hasWritten === true) return false;
  if (client === undefined || isUnknown(after) || typeof after !== 'string') return true;
  try {
    await client.client.http.send({ method: 'GET', path: path(after) });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** At the apply of a plan that took one owner for the other renamed, which it is not. */
export const otherOwner = (what: string, attribute: string, owner: string): DiagnosticError =>
  new DiagnosticError([
    failure(
      `The ${what} is not in ${owner}`,
      `When the plan was made there was no ${owner}, so that it could be the new name of the ${attribute}; it is another one. Plan again: the ${what} is then made in ${owner}.`,
      at(attribute),
    ),
  ]);
