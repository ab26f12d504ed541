// The container of an object inside it, also when an apply that renamed it failed before it came to that object.
import type { Seen, SeenContainer } from '../../connection/reader.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import type { Context, PrivateData } from '../../framework/object-type.ts';
import { at, type Path } from '../../framework/path.ts';
import type { Value } from '../../framework/value.ts';
import { segment } from '../shared/read-by-path.ts';
import { isOtherOwner } from '../shared/rename.ts';

export const containerPath = (name: string): string => `/1.0/containers/${segment(name)}`;

/** Key in private data: the creation time of the container that has the object. */
export const bornKey = 'container_created_at';
/** Key in private data: the name that the container had before the last refresh. */
export const formerKey = 'container_former_name';

/** The container of that name; when there is none, the one that had the object under that name. */
export async function readHolder(
  { client, privateData, signal }: Context<Link>,
  name: string,
): Promise<Seen<SeenContainer> | undefined> {
  delete privateData[formerKey];
  let seen = await client.reader.read('container', name, signal);
  const born = privateData[bornKey];
  if (seen === undefined && born !== undefined) {
    const [renamed, ...others] = (await client.client.list('container', signal)).filter(
      ({ created_at: created }) => created === born,
    );
    if (renamed !== undefined && others.length === 0) {
      seen = { object: renamed };
      privateData[formerKey] = name;
    }
  }
  if (seen !== undefined) privateData[bornKey] = seen.object.created_at;
  return seen;
}

interface Inside {
  readonly prior: { readonly container: string } | null;
  readonly planned: { readonly container: Value };
  readonly client: Link | undefined;
  readonly privateData: PrivateData;
  readonly replace: (path: Path) => void;
}

/** Plans the container of an object: another one than before gets an object of its own. Throws a DiagnosticError for a container that somebody
 *  renamed, since the replacement would delete the object there. */
export async function planHolder({ prior, planned, client, privateData, replace }: Inside): Promise<void> {
  if (prior === null) return;
  const [before, after] = [prior.container, planned.container];
  if (after !== before && after === privateData[formerKey])
    throw new DiagnosticError([
      failure(
        `The container ${after} was renamed to ${before}`,
        `The configuration still has the name ${after}, and a new container of that name would not have what is in ${before}. Rename ${before} back, or write its name in the configuration and import it; to leave ${before} alone, remove this resource from the state first (terraform state rm).`,
        at('container'),
      ),
    ]);
  if (await isOtherOwner(client, { attribute: 'container', before, after, path: containerPath }))
    replace(at('container'));
}
