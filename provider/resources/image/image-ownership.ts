// Whose an image is: one that the server had before is used and stays when the resource goes, with all its names but those that came
// with the resource.
import type { Image } from '../../../server/api/image/image.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure, warning } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context } from '../../framework/object-type.ts';
import { perform, performDelete } from '../shared/write.ts';

/** In private data: that the image was there before, and the names that it got by the resource, one a line. */
const foundKey = 'image_was_there';
const aliasesKey = 'own_aliases';

/** The images of the server, by fingerprint. Cached images of other servers are unowned. */
export async function imagesBefore({ client, signal }: Context<Link>): Promise<ReadonlyMap<string, Image>> {
  const images = await client.client.list('image', signal);
  return new Map(images.filter(({ cached }) => !cached).map((image) => [image.fingerprint, image]));
}

/** What the configuration says of an image; what it leaves out is null. */
export interface ImageSettings {
  readonly properties: Readonly<Record<string, string>> | null;
  readonly public: boolean | null;
  readonly auto_update: boolean | null;
}

/** Throws DiagnosticError when an image that others have is other than what is configured: it is not ours to change. */
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
    ...(settings.properties === null || isSame(found.properties, settings.properties) ? [] : ['properties']),
  ];
  if (differs.length > 0) {
    await restore(context, found, live);
    const detail = `The server had this image before, with other values of ${differs.join(', ')}, and others may use it. Configure what it has, or take it over with terraform import <address> ${fingerprint}: it is then changed, and deleted with this resource.`;
    throw new DiagnosticError([failure(`The image ${fingerprint} is there already`, detail, at('source'))]);
  }
  const names = new Set(found.aliases.map(({ name }) => name));
  context.privateData[foundKey] = 'true';
  context.privateData[aliasesKey] = live.aliases
    .map(({ name }) => name)
    .filter((name) => !names.has(name))
    .join('\n');
  const detail = `It is used as it is, and stays on the server when this resource is destroyed. To manage it, take it over: terraform import <address> ${fingerprint}.`;
  context.warn(warning(`The image ${fingerprint} was on the server already`, detail));
}

/** Fetching an image that is there may have changed it already. */
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

/** The image, or of one that was there before only the names that came with the resource. */
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
