// Reads the live world in one list call a kind, all at once; judges nothing.
import type { Server } from '../../server/api/server.ts';
import type { Client } from '../../server/client/client.ts';
import type { ClientKind, KindTypes } from '../../server/client/kind-paths.ts';
import type { Reply } from '../../server/client/reply.ts';
import type { Live, Observed } from '../core/observed.ts';
import { readSetStates } from '../core/set-state.ts';

/** One call a kind, and one a pool for its volumes. ETags are not among the answers of lists: a step reads its object again before it changes it. */
export async function observe(client: Pick<Client, 'list' | 'server'>, signal?: AbortSignal): Promise<Observed> {
  const listed = async <K extends ClientKind>(
    kind: K,
    keyOf: (object: KindTypes[K]['object']) => string,
  ): Promise<ReadonlyMap<string, Live<KindTypes[K]['object']>>> =>
    new Map((await client.list(kind, signal)).map((object) => [keyOf(object), { object }]));
  const byName = (object: { readonly name: string }): string => object.name;
  const [server, containers, profiles, networks, pools, images, aliases, volumes, certificates] = await Promise.all([
    client.server(signal),
    listed('container', byName),
    listed('profile', byName),
    listed('network', byName),
    listed('storage_pool', byName),
    listed('image', (image) => image.fingerprint),
    listed('image_alias', byName),
    listed('storage_volume', ({ pool, name }) => `${pool}/${name}`),
    listed('certificate', (certificate) => certificate.fingerprint),
  ]);
  return {
    ...serverPart(server),
    containers,
    profiles,
    networks,
    pools,
    images,
    aliases,
    volumes,
    certificates,
  };
}

/** The server object as a plan sees it, with what the sets left in its config. */
export function serverPart({ metadata, etag }: Reply<Server>): Pick<Observed, 'server' | 'sets'> {
  const config: Server['config'] | undefined = metadata.config;
  return {
    server: {
      extensions: metadata.api_extensions,
      ...(config === undefined ? {} : { config }),
      ...(etag === undefined ? {} : { etag }),
    },
    sets: readSetStates(config ?? {}),
  };
}
