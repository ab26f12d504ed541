// Deletes the contents of a project, before the project itself is deleted.
import type { Project } from '../../server/api/project/project.ts';
import type { Client } from '../../server/client/client.ts';
import type { Link } from '../connection/link.ts';
import type { Context } from '../framework/object-type.ts';
import type { Static } from 'typebox';
import { segment } from './shared/read-by-path.ts';
import { performDelete } from './shared/write.ts';

/** Deletes containers first, because they use the rest. Leaves objects that the project shares with `default`. */
export async function emptyProject(context: Context<Link>, name: string): Promise<void> {
  const client = context.client.client.inProject(name);
  const path = `/1.0/projects/${segment(name)}`;
  const { metadata } = await context.client.client.http.send<Static<typeof Project>>(
    { method: 'GET', path },
    context.signal,
  );
  const has = (feature: string): boolean => /^(true|1|yes|on)$/i.test(metadata.config[`features.${feature}`] ?? '');
  for (const { name: container, status } of await client.list('container', context.signal)) {
    if (status !== 'Stopped') await stop(context, client, container);
    await remove(context, client, `/1.0/containers/${segment(container)}`);
  }
  if (has('images'))
    for (const { fingerprint } of await client.list('image', context.signal))
      await remove(context, client, `/1.0/images/${fingerprint}`);
  if (has('profiles'))
    for (const profile of await client.list('profile', context.signal)) {
      const at = `/1.0/profiles/${segment(profile.name)}`;
      if (profile.name !== 'default') await remove(context, client, at);
      // `default` cannot be deleted; emptying it frees the objects that it uses.
      else
        await client.http.send(
          { method: 'PUT', path: at, json: { description: '', config: {}, devices: {} } },
          context.signal,
        );
    }
  if (has('storage.volumes')) await removeVolumes(context, client);
  if (has('networks'))
    for (const network of await client.list('network', context.signal))
      if (network.managed) await remove(context, client, `/1.0/networks/${segment(network.name)}`);
}

async function removeVolumes(context: Context<Link>, client: Client): Promise<void> {
  for (const { name: pool } of await context.client.client.list('storage_pool', context.signal)) {
    const path = `/1.0/storage-pools/${segment(pool)}/volumes/custom`;
    const { metadata } = await client.http.send<readonly string[] | null>({ method: 'GET', path }, context.signal);
    for (const url of metadata ?? []) await remove(context, client, url.split('?')[0] ?? url);
  }
}

const stop = async (context: Context<Link>, client: Client, name: string): Promise<void> => {
  await client.operations.run(
    () => client.putContainerState(name, { action: 'stop', force: true }, context.signal),
    context.signal,
  );
};

const remove = (context: Context<Link>, client: Client, path: string): Promise<void> =>
  performDelete({ ...context, client: { ...context.client, client } }, () =>
    client.http.send({ method: 'DELETE', path, json: {} }, context.signal),
  );
