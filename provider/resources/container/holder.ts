// The container of an object inside it, also when an apply that renamed it failed before it came to that object.
import type { Seen, SeenContainer } from '../../connection/reader.ts';
import type { Link } from '../../connection/link.ts';
import type { Context } from '../../framework/object-type.ts';

/** Key in private data: the creation time of the container that has the object. */
export const bornKey = 'container_created_at';

/** The container of that name; when there is none, the one that had the object under that name. */
export async function readHolder(
  { client, privateData, signal }: Context<Link>,
  name: string,
): Promise<Seen<SeenContainer> | undefined> {
  let seen = await client.reader.read('container', name, signal);
  const born = privateData[bornKey];
  if (seen === undefined && born !== undefined) {
    const [renamed, ...others] = (await client.client.list('container', signal)).filter(
      ({ created_at: created }) => created === born,
    );
    if (renamed !== undefined && others.length === 0) seen = { object: renamed };
  }
  if (seen !== undefined) privateData[bornKey] = seen.object.created_at;
  return seen;
}
