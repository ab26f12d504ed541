// Ownership of an image: one that the server had before stays when the resource is destroyed, with all its aliases except those that
// the resource created.
import type { Image } from '../../../server/api/image/image.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure, warning } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context } from '../../framework/object-type.ts';
import { sameMap } from '../shared/config-maps.ts';
import { perform, performDelete } from '../shared/write.ts';

/** Keys of private data: whether the image existed before, and the aliases that the resource created, one in each line. */
const foundKey = 'image_was_there';
const aliasesKey = 'own_aliases';

/** The images of the server, by fingerprint. Cached images of other servers are unowned. */
export async function imagesBefore({ client, signal }: Context<Link>): Promise<ReadonlyMap<string, Image>> {
  const images = await client.client.list('image', signal);
  return new Map(images.filter(({ cached }) => !cached).map((image) => [image.fingerprint, image]));
}

/** The configured values of an image; missing ones are null. */
export interface ImageSettings {
  readonly properties: Readonly<Record<string, string>> | null;
  readonly public: boolean | null;
  readonly auto_update: boolean | null;
}

/** Throws DiagnosticError when an image of other owners differs from the configuration: this resource must not change it. */
export async function useFound(
  context: Context<Link>,
  found: Image,
  live: Image,
  settings: ImageSettings,
): Promise<void> {
  const { fingerprint } = found;
  const differs = [
    ...(found.public === (settings.public ?? false) ? [] : ['public']),
    ...(found.auto_update === (settings.auto_update ?? false) ? [] : ['auto_update']),
    ...(settings.properties === null || sameMap(found.properties, settings.properties) ? [] : ['properties']),
  ];
  if (differs.length > 0) {
    await restore(context, found, live);
    const detail = `The server already had this image with other values of ${differs.join(', ')}, and others may use it. Configure the existing values, or adopt it with terraform import <address> ${fingerprint}: this resource then changes it, and deletes it on destroy.`;
    throw new DiagnosticError([failure(`The image ${fingerprint} already exists`, detail, at('source'))]);
  }
  const names = new Set(found.aliases.map(({ name }) => name));
  context.privateData[foundKey] = 'true';
  context.privateData[aliasesKey] = live.aliases
    .map(({ name }) => name)
    .filter((name) => !names.has(name))
    .join('\n');
  const detail = `This resource uses it unchanged, and it stays on the server when this resource is destroyed. To manage it, adopt it: terraform import <address> ${fingerprint}.`;
  context.warn(warning(`The image ${fingerprint} was already on the server`, detail));
}

/** Fetching an existing image may have changed it. */
async function restore(
  context: Context<Link>,
  { fingerprint, properties, ...found }: Image,
  live: Image,
): Promise<void> {
  const { public: isPublic, auto_update: autoUpdate } = found;
  if (live.public === isPublic && live.auto_update === autoUpdate && isSame(live.properties, properties)) return;
  const body = { properties, public: isPublic, auto_update: autoUpdate };
  await perform(context, () => context.client.client.put('image', fingerprint, body, {}, context.signal));
}

const isSame = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);

/** Deletes the image, or only the aliases that the resource created when the image existed before. */
export async function removeOwn(context: Context<Link>, fingerprint: string): Promise<void> {
  const { client, privateData, signal } = context;
  if (privateData[foundKey] === undefined) {
    await performDelete(context, () => client.client.delete('image', fingerprint, signal));
    return;
  }
  for (const name of (privateData[aliasesKey] ?? '').split('\n').filter((line) => line !== '')) {
    const target = await client.client.get('image_alias', name, signal).then(
      ({ metadata }) => metadata.target,
      (error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      },
    );
    if (target === fingerprint) await performDelete(context, () => client.client.delete('image_alias', name, signal));
  }
}
