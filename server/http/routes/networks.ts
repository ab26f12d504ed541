// Network endpoints: requests to use cases and back.
import type { NetworkCreate, NetworkPut } from '../../api/network/network.ts';
import type { Networks } from '../../services/networks/networks.ts';
import { done, movedTo, param, recursionOf, sync, type RouteTable } from '../route.ts';

const urlOf = (name: string): string => `/1.0/networks/${encodeURIComponent(name)}`;

export function networkRoutes(networks: Networks): RouteTable {
  return {
    'networks.list': async ({ query }) => {
      const list = await networks.list();
      return sync(recursionOf(query) > 0 ? list : list.map((network) => urlOf(network.name)));
    },
    'networks.create': async ({ caller, body }) => {
      const create = body as NetworkCreate;
      await networks.create(caller, create);
      return movedTo(urlOf(create.name));
    },
    'networks.get': async (context) => {
      const { object, etag } = await networks.get(param(context, 'name'));
      return sync(object, etag);
    },
    'networks.put': async (context) => {
      await networks.put(context.caller, param(context, 'name'), context.body as NetworkPut, context.ifMatch);
      return done;
    },
    'networks.patch': async (context) => {
      await networks.patch(context.caller, param(context, 'name'), context.body as NetworkPut, context.ifMatch);
      return done;
    },
    'networks.post': async (context) => {
      const { name } = context.body as { name: string };
      await networks.rename(context.caller, param(context, 'name'), name);
      return movedTo(urlOf(name));
    },
    'networks.delete': async (context) => {
      await networks.delete(context.caller, param(context, 'name'));
      return done;
    },
    'networks.state': async (context) => sync(await networks.state(param(context, 'name'))),
    'networks.leases': async (context) => sync(await networks.leases(param(context, 'name'))),
  };
}
