// Calls for objects of any kind: lists, volumes of all pools, the server config as an object, the requests of creations and writes.
import { kinds, type KindName } from '../api/kinds.ts';
import type { Container } from '../api/container/container.ts';
import { withoutNulls } from '../api/container/unread.ts';
import type { KindTypes } from '../api/kind-schemas.ts';
import type { Server } from '../api/server/server.ts';
import { ClientError, isNotFound } from './client-error.ts';
import { volumesOf } from './kind-paths.ts';
import type { Call } from './transport/http.ts';
import type { Reply } from './transport/reply.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export type Send = <T>(call: Call, signal?: AbortSignal) => Promise<Reply<T>>;

export const listOf = async (send: Send, path: string, signal?: AbortSignal): Promise<readonly unknown[]> =>
  readList(await send({ method: 'GET', path, query: { recursion: 1 } }, signal), path);

export const listContainers = async (send: Send, signal?: AbortSignal): Promise<readonly Container[]> =>
  ((await listOf(send, kinds.container.collection, signal)) as readonly Container[]).map(withoutNulls);

/** The server config in the form of other objects. */
export async function readServer(
  send: Send,
  signal?: AbortSignal,
): Promise<Reply<KindTypes['server_config']['object']>> {
  const reply: Reply<Server> = await send({ method: 'GET', path: '/1.0' }, signal);
  return { ...reply, metadata: { name: 'server', config: reply.metadata.config } };
}

type Ask = (signal?: AbortSignal) => Promise<readonly unknown[]>;

/** A reader of the whole server reads pools, and the volumes in them, at the same time: both share one answer. */
export function sharedWhileAsked(ask: Ask): Ask {
  const asked = new Map<AbortSignal, ReturnType<Ask>>();
  return (signal) => {
    if (signal === undefined) return ask();
    const under = asked.get(signal);
    if (under !== undefined) return under;
    const answer = ask(signal).finally(() => asked.delete(signal));
    asked.set(signal, answer);
    return answer;
  };
}

/** Custom volumes of all pools, without the snapshots (VOLUME/SNAPSHOT) in lists. A pool deleted in between counts as empty. */
export async function listVolumes(send: Send, pools: Ask, signal?: AbortSignal): Promise<readonly unknown[]> {
  const found = (await pools(signal)) as readonly { readonly name: string }[];
  const lists = await Promise.all(
    found.map(async ({ name: pool }) => {
      const volumes = (await listOf(send, volumesOf(pool), signal).catch((error: unknown) => {
        if (isNotFound(error)) return [];
        throw error;
      })) as readonly { readonly name: string }[];
      return volumes.filter(({ name }) => !name.includes('/')).map((volume) => ({ ...volume, pool }));
    }),
  );
  return lists.flat();
}

export function creating(kind: KindName, json: object): Pick<Call, 'path' | 'json'> {
  if (kind !== 'storage_volume') return { path: kinds[kind].collection, json };
  const { pool, ...volume } = json as KindTypes['storage_volume']['create'];
  return { path: volumesOf(pool), json: { ...volume, type: 'custom' } };
}

export function writing(options: {
  readonly ifMatch?: string;
  readonly target?: string;
}): Pick<Call, 'ifMatch' | 'query'> {
  return {
    ...withoutUndefined({ ifMatch: options.ifMatch }),
    ...(options.target === undefined ? {} : { query: { target: options.target } }),
  };
}

export function readList(reply: Reply<unknown>, path: string): readonly unknown[] {
  if (reply.metadata === null) return [];
  if (!Array.isArray(reply.metadata)) throw new ClientError('badReply', `GET ${path}: the answer is no list`);
  return reply.metadata;
}
