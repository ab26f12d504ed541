// Finds a container that was renamed without the state knowing it, for its resource and those of the objects inside it.
import type { Seen, SeenContainer } from '../../connection/reader.ts';
import type { Link } from '../../connection/link.ts';
import { plannedName } from '../../connection/planned-names.ts';
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

/**
 * The container of that name; when there is none, the one that was created at that moment, which a rename keeps. Servers count nanoseconds,
 * and only a restored backup has the time of another container: with two of them, neither is taken.
 */
export async function readRenamed(
  { client, signal }: Context<Link>,
  name: string,
  born: string | null | undefined,
): Promise<Seen<SeenContainer> | undefined> {
  const seen = await client.reader.read('container', name, signal);
  if (seen !== undefined || (born ?? '') === '') return seen;
  const [renamed, ...others] = (await client.client.list('container', signal)).filter(
    ({ created_at: created }) => created === born,
  );
  return renamed === undefined || others.length > 0 ? undefined : client.reader.read('container', renamed.name, signal);
}

/** The container of an object inside it, with a note where it has another name. */
export async function readHolder(context: Context<Link>, name: string): Promise<Seen<SeenContainer> | undefined> {
  const { privateData } = context;
  delete privateData[formerKey];
  const seen = await readRenamed(context, name, privateData[bornKey]);
  if (seen === undefined) return undefined;
  if (seen.object.name !== name) privateData[formerKey] = name;
  privateData[bornKey] = seen.object.created_at;
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
 *  renamed and that keeps its new name, since the replacement would delete the object there. */
export async function planHolder({ prior, planned, client, privateData, replace }: Inside): Promise<void> {
  if (prior === null) return;
  const [before, after] = [prior.container, planned.container];
  if (after === before) return;
  const holder = { typeName: 'gantry_container', within: [], name: before };
  const next = client === undefined ? undefined : plannedName(client, holder);
  if (after !== next && after === privateData[formerKey])
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
