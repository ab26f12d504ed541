// Storage pool endpoints: requests to use cases and back. In a cluster they concern all members, unless `target` names one.
import type { ClusterObjects } from '../../services/cluster/cluster-objects.ts';
import type { StoragePools } from '../../services/storage/storage-pools.ts';
import { doneAfter, movedTo, recursionOf, type RouteTable, sync } from '../route.ts';

const urlOf = (name: string): string => `/1.0/storage-pools/${encodeURIComponent(name)}`;

interface PoolServices {
  readonly storagePools: StoragePools;
  readonly clusterPools: ClusterObjects;
}

export function poolRoutes({ storagePools: pools, clusterPools: cluster }: PoolServices) {
  return {
    'pools.list': async ({ query }) => {
      if (recursionOf(query) === 0) return sync(cluster.names(pools.names()).map(urlOf));
      return sync([...(await pools.list()).map((pool) => cluster.shown(pool)), ...cluster.pendingPools()]);
    },
    'pools.create': async (context) => {
      const { caller, body, query } = context;
      const create = { ...body, type: body.driver };
      await cluster.create(context, query.target, create, () => pools.create(caller, body));
      return movedTo(urlOf(body.name));
    },
    'pools.get': async ({ params, query }) => {
      const pending = cluster.pendingPools(query.target).find(({ name }) => name === params.pool);
      if (pending !== undefined) return sync(pending);
      const { object, etag } = await pools.get(params.pool);
      return sync(cluster.shown(object, query.target), etag);
    },
    'pools.put': (context) => {
      const { caller, params, body, ifMatch } = context;
      const wanted = isOneMember(context.query) ? body : cluster.withOwnKeys(context, params.pool, body);
      cluster.refuseMisplaced(context, params.pool, body, true);
      return doneAfter(cluster.change(context, params.pool, () => pools.put(caller, params.pool, wanted, ifMatch)));
    },
    'pools.patch': (context) => {
      const { caller, params, body, ifMatch } = context;
      cluster.refuseMisplaced(context, params.pool, body, false);
      return doneAfter(cluster.change(context, params.pool, () => pools.patch(caller, params.pool, body, ifMatch)));
    },
    'pools.delete': (context) =>
      doneAfter(cluster.remove(context, context.params.pool, () => pools.delete(context.caller, context.params.pool))),
    'pools.resources': async ({ params }) => {
      cluster.refusePending(params.pool);
      return sync(await pools.resources(params.pool));
    },
  } satisfies Partial<RouteTable>;
}

const isOneMember = ({ target = '' }: { readonly target?: string | undefined }): boolean => target !== '';
