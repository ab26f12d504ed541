// Storage pool endpoints: requests to use cases and back.
import type { StoragePools } from '../../services/storage/storage-pools.ts';
import { done, movedTo, recursionOf, sync, type RouteTable } from '../route.ts';

const urlOf = (name: string): string => `/1.0/storage-pools/${encodeURIComponent(name)}`;

export function poolRoutes(pools: StoragePools) {
  return {
    'pools.list': async ({ query }) => sync(recursionOf(query) > 0 ? await pools.list() : pools.names().map(urlOf)),
    'pools.create': async ({ caller, body }) => {
      const create = body;
      await pools.create(caller, create);
      return movedTo(urlOf(create.name));
    },
    'pools.get': async (context) => {
      const { object, etag } = await pools.get(context.params.pool);
      return sync(object, etag);
    },
    'pools.put': async (context) => {
      await pools.put(context.caller, context.params.pool, context.body, context.ifMatch);
      return done;
    },
    'pools.patch': async (context) => {
      await pools.patch(context.caller, context.params.pool, context.body, context.ifMatch);
      return done;
    },
    'pools.delete': async (context) => {
      await pools.delete(context.caller, context.params.pool);
      return done;
    },
    'pools.resources': async (context) => sync(await pools.resources(context.params.pool)),
  } satisfies Partial<RouteTable>;
}
