// `gantry image refresh|delete|alias|unalias`: changes existing images and aliases.
import type { Run } from '../../session/context.ts';
import type { Client } from '../../../../server/client/client.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { withClient } from '../../session/connect.ts';
import { commandError } from '../../errors/usage-error.ts';
import { followOperation } from '../../session/follow-operation.ts';

export const refreshImage: Run<HostOptions> = async (context, [name = '']) => {
  await withClient(context, async (client) => {
    const fingerprint = await resolveImage(client, name, context.stop);
    const path = `/1.0/images/${encodeURIComponent(fingerprint)}/refresh`;
    const { refreshed } = await followOperation(context, client, () =>
      client.http.send({ method: 'POST', path }, context.stop),
    );
    context.jsonObjects({ fingerprint, refreshed: refreshed === true });
    context.out(refreshed === true ? `${name} has been replaced by a newer image` : `${name} is the newest`);
  });
};

export const deleteImages: Run<HostOptions> = async (context, names) => {
  await withClient(context, async (client) => {
    for (const name of names) {
      const fingerprint = await resolveImage(client, name, context.stop);
      await client.operations.run(() => client.delete('image', fingerprint, context.stop), context.cancel);
    }
  });
};

export const setAlias: Run<HostOptions> = async (context, [name = '', image = '']) => {
  await withClient(context, async (client) => {
    const { metadata } = await client.get('image', await resolveImage(client, image, context.stop), context.stop);
    await putAlias(client, name, metadata.fingerprint, context.stop);
  });
};

export const deleteAliases: Run<HostOptions> = async (context, names) => {
  await withClient(context, async (client) => {
    for (const name of names) {
      await client.delete('image_alias', name, context.stop).catch((error: unknown) => {
        throw isNotFound(error) ? commandError(`Alias ${name} not found`, error) : error;
      });
    }
  });
};

/** Points the alias to this image, creating it if needed. */
export async function putAlias(client: Client, name: string, target: string, signal: AbortSignal): Promise<void> {
  const known = await client.get('image_alias', name, signal).catch(unlessMissing);
  if (known === undefined) await client.create('image_alias', { name, target }, {}, signal);
  else await client.patch('image_alias', name, { target }, {}, signal);
}

/** The fingerprint of an alias, or of the beginning of a fingerprint. */
export async function resolveImage(client: Client, name: string, signal: AbortSignal): Promise<string> {
  const alias = await client.get('image_alias', name, signal).catch(unlessMissing);
  if (alias !== undefined) return alias.metadata.target;
  const image = await client.get('image', name, signal).catch(unlessMissing);
  if (image === undefined) throw commandError(`Image ${name} not found: it is neither an alias nor a fingerprint`);
  return image.metadata.fingerprint;
}

function unlessMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
