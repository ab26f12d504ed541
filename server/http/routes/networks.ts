// Network endpoints: requests to use cases and back. In a cluster they concern all members, unless `target` names one.
import type { ClusterObjects } from '../../services/cluster/cluster-objects.ts';
import type { Networks } from '../../services/networks/networks.ts';
import { doneAfter, movedTo, recursionOf, type RouteTable, sync } from '../route.ts';

const urlOf = (name: string): string => `/1.0/networks/${encodeURIComponent(name)}`;

interface NetworkServices {
  readonly networks: Networks;
  readonly clusterNetworks: ClusterObjects;
}

export function networkRoutes({ networks, clusterNetworks: cluster }: NetworkServices) {
  return {
    'networks.list': async ({ query }) => {
      const list = [...(await networks.list()).map((network) => cluster.shown(network)), ...cluster.pendingNetworks()];
      return sync(recursionOf(query) > 0 ? list : list.map((network) => urlOf(network.name)));
    },
    'networks.create': async (context) => {
      const { caller, body, query } = context;
      const create = { ...body, type: body.type || 'bridge' };
      await cluster.create(context, query.target, create, () => networks.create(caller, body));
      return movedTo(urlOf(body.name));
    },
    'networks.get': async ({ params, query }) => {
      const pending = cluster.pendingNetworks(query.target).find(({ name }) => name === params.name);
      if (pending !== undefined) return sync(pending);
      const { object, etag } = await networks.get(params.name);
      return sync(cluster.shown(object, query.target), etag);
    },
    'networks.put': (context) => {
      const { caller, params, body, ifMatch } = context;
      const wanted = isOneMember(context.query) ? body : cluster.withOwnKeys(context, params.name, body);
      cluster.refuseMisplaced(context, params.name, body, true);
      return doneAfter(cluster.change(context, params.name, () => networks.put(caller, params.name, wanted, ifMatch)));
    },
    'networks.patch': (context) => {
      const { caller, params, body, ifMatch } = context;
      cluster.refuseMisplaced(context, params.name, body, false);
      return doneAfter(cluster.change(context, params.name, () => networks.patch(caller, params.name, body, ifMatch)));
    },
    'networks.post': async (context) => {
      const { name } = context.body;
      cluster.refuseRename(context, context.params.name);
      await networks.rename(context.caller, context.params.name, name);
      return movedTo(urlOf(name));
    },
    'networks.delete': (context) =>
      doneAfter(
        cluster.remove(context, context.params.name, () => networks.delete(context.caller, context.params.name)),
      ),
    'networks.state': async ({ params }) => {
      cluster.refusePending(params.name);
      return sync(await networks.state(params.name));
    },
    'networks.leases': async ({ params, isForwarded }) => sync(await networks.leases(params.name, isForwarded)),
  } satisfies Partial<RouteTable>;
}

const isOneMember = ({ target = '' }: { readonly target?: string | undefined }): boolean => target !== '';
