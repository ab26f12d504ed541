// Storage pool endpoints: requests to use cases and back.
import type { StoragePoolCreate, StoragePoolPut } from '../../api/storage/pool.ts';
import type { StoragePools } from '../../services/storage/storage-pools.ts';
import { done, movedTo, param, recursionOf, sync, type RouteTable } from '../route.ts';

const urlOf = (name: string): string => `/1.0/storage-pools/${encodeURIComponent(name)}`;

export function poolRoutes(pools: StoragePools): RouteTable {
  return {
    'pools.list': async ({ query }) => sync(recursionOf(query) > 0 ? await pools.list() : pools.names().map(urlOf)),
    'pools.create': async ({ caller, body }) => {
      const create = body as StoragePoolCreate;
      await pools.create(caller, create);
      return movedTo(urlOf(create.name));
    },
    'pools.get': async (context) => {
      const { object, etag } = await pools.get(param(context, 'pool'));
      return sync(object, etag);
    },
    'pools.put': async (context) => {
      await pools.put(context.caller, param(context, 'pool'), context.body as StoragePoolPut, context.ifMatch);
      return done;
    },
    'pools.patch': async (context) => {
      await pools.patch(context.caller, param(context, 'pool'), context.body as StoragePoolPut, context.ifMatch);
      return done;
    },
    'pools.delete': async (context) => {
      await pools.delete(context.caller, param(context, 'pool'));
      return done;
    },
    'pools.resources': async (context) => sync(await pools.resources(param(context, 'pool'))),
  };
}
