// Finds objects for `terraform query`: all of a kind, or those inside other objects.
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import { kinds, nameOfObject, type KindName } from '../../../server/api/kinds.ts';
import type { Link } from '../../connection/link.ts';
import { text } from '../../framework/attribute.ts';
import type { Listed, Listing } from '../../framework/listing/listing.ts';
import type { Context } from '../../framework/object-type.ts';
import type { ValueMap } from '../../framework/value.ts';
import { nonEmpty } from './config-maps.ts';

const prefix = text({ doc: 'Only objects whose name begins with this.' });

const startsAsAsked = (config: ValueMap, name: string): boolean =>
  typeof config['name_prefix'] !== 'string' || name.startsWith(config['name_prefix']);

interface ByKind<K extends KindName> {
  /** The attribute that holds the name. */
  readonly identity: string;
  readonly isListed?: (object: KindTypes[K]['object']) => boolean;
  readonly title?: (object: KindTypes[K]['object']) => string;
}

export function listByKind<K extends KindName>(kind: K, options: Partial<ByKind<K>> = {}): Listing<Link> {
  const { identity = 'name', isListed = () => true, title } = options;
  const label = kind.replaceAll('_', ' ');
  return {
    doc: `Lists every ${label} that the client may see.`,
    attributes: { name_prefix: prefix },
    async find(config, { client, signal }) {
      const objects = await client.client.list(kind, signal);
      return objects.filter(isListed).flatMap((object): readonly Listed[] => {
        const name = nameOfObject(kind, object);
        const shown = title?.(object) ?? name;
        return startsAsAsked(config, shown) ? [{ title: shown, state: { [identity]: name } }] : [];
      });
    },
  };
}

interface Inside {
  readonly label: string;
  /** The kind of the holder, and the attribute that names it. */
  readonly holder: KindName;
  readonly attribute: string;
  /** The collection of one holder. */
  readonly path: (holder: string) => string;
}

/** Lists objects inside one named holder, or inside all. */
export function listInside({ label, holder, attribute, path }: Inside): Listing<Link> {
  return {
    doc: `Lists the ${label}s of one ${kinds[holder].label}, or of every one that the client may see.`,
    attributes: { [attribute]: text({ doc: `Only those of this ${kinds[holder].label}.` }), name_prefix: prefix },
    async find(config, context) {
      const given = config[attribute];
      const only = typeof given === 'string' ? nonEmpty(given) : null;
      const holders = only === null ? await namesOf(context, holder) : [only];
      const found: Listed[] = [];
      for (const name of holders)
        for (const each of await membersAt(context, path(name)))
          if (startsAsAsked(config, each))
            found.push({ title: `${name}/${each}`, state: { [attribute]: name, name: each } });
      return found;
    },
  };
}

async function namesOf({ client, signal }: Context<Link>, kind: KindName): Promise<readonly string[]> {
  const objects = await client.client.list(kind, signal);
  return objects.map((object) => nameOfObject(kind, object as unknown as Readonly<Record<string, string>>));
}

/** The names in a collection, from the last part of each URL. */
async function membersAt({ client, signal }: Context<Link>, path: string): Promise<readonly string[]> {
  const { metadata } = await client.client.http.send<readonly string[] | null>({ method: 'GET', path }, signal);
  const names = (metadata ?? []).map((url) => decodeURIComponent((url.split('?')[0] ?? '').split('/').at(-1) ?? ''));
  return [...new Set(names)];
}
