// Renames objects in place; objects inside a renamed one follow it.
import { isNotFound, isRefused } from '../../../server/client/client-error.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context } from '../../framework/object-type.ts';
import { isUnknown, type Value } from '../../framework/value.ts';
import { readPath, segment, type Where } from './read-by-path.ts';
import { hasUnknownOutcome, performNaming } from './write.ts';

interface Named {
  readonly name: string;
}

/** Does nothing when the name is unchanged. */
export const renameKind = (context: Context<Link>, kind: KindName, prior: Named, planned: Named): Promise<void> =>
  renamePath(context, pathOf(kind, prior.name), prior, planned);

/** The same for an object with its own path, which ends with its name. */
export async function renamePath(
  context: Context<Link>,
  path: string,
  prior: Named,
  planned: Named,
  where: Where = {},
): Promise<void> {
  if (planned.name === prior.name) return;
  const call = { method: 'POST', path, query: { ...where }, json: { name: planned.name } } as const;
  try {
    await performNaming(context, () => context.client.client.http.send(call, context.signal));
  } catch (error) {
    context.signal.throwIfAborted();
    const to = `${path.slice(0, path.lastIndexOf('/') + 1)}${segment(planned.name)}`;
    if (!mayHaveRenamed(error) || !(await isOnlyAt(context, to, path, where).catch(() => false))) throw error;
  }
}

/** The answer was lost, or a busy database ended the request halfway; a server that got it twice no longer finds the former name. */
const mayHaveRenamed = (error: unknown): boolean =>
  isNotFound(error) || hasUnknownOutcome(error) || isRefused(error, 'overloaded');

const isOnlyAt = async (context: Context<Link>, to: string, from: string, where: Where): Promise<boolean> =>
  (await readPath(context, to, where)) !== undefined && (await readPath(context, from, where)) === undefined;

interface Owned {
  /** The attribute that names the owner. */
  readonly attribute: string;
  readonly before: string;
  readonly after: Value;
  /** The path of the owner of that name in the API. */
  readonly path: (owner: string) => string;
  readonly where?: Where;
}

/**
 * Whether an owned object must be created again in another owner. An owner that already exists under the new name is another one. An
 * owner that does not exist may be this one, renamed by the same apply, which then checks.
 */
export async function isOtherOwner(client: Link | undefined, { before, after, path, where }: Owned): Promise<boolean> {
  // The apply must keep the decision of the plan.
  if (after === before || client?.activity.hasWritten === true) return false;
  if (client === undefined || isUnknown(after) || typeof after !== 'string') return true;
  try {
    await client.client.http.send({ method: 'GET', path: path(after), query: { ...where } });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** The error at apply if the plan mistook another owner for a renamed one. */
export const otherOwner = (what: string, attribute: string, owner: string): DiagnosticError =>
  new DiagnosticError([
    failure(
      `The ${what} is not in ${owner}`,
      `At the plan ${owner} did not exist, so it could have been the new name of the ${attribute}, but it is another one. Plan again to create the ${what} in ${owner}.`,
      at(attribute),
    ),
  ]);
