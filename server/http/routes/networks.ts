// Network endpoints: requests to use cases and back.
import type { Networks } from '../../services/networks/networks.ts';
import { done, movedTo, recursionOf, sync, type RouteTable } from '../route.ts';

const urlOf = (name: string): string => `/1.0/networks/${encodeURIComponent(name)}`;

export function networkRoutes(networks: Networks) {
  return {
    'networks.list': async ({ query }) => {
      const list = await networks.list();
      return sync(recursionOf(query) > 0 ? list : list.map((network) => urlOf(network.name)));
    },
    'networks.create': async ({ caller, body }) => {
      const create = body;
      await networks.create(caller, create);
      return movedTo(urlOf(create.name));
    },
    'networks.get': async (context) => {
      const { object, etag } = await networks.get(context.params.name);
      return sync(object, etag);
    },
    'networks.put': async (context) => {
      await networks.put(context.caller, context.params.name, context.body, context.ifMatch);
      return done;
    },
    'networks.patch': async (context) => {
      await networks.patch(context.caller, context.params.name, context.body, context.ifMatch);
      return done;
    },
    'networks.post': async (context) => {
      const { name } = context.body;
      await networks.rename(context.caller, context.params.name, name);
      return movedTo(urlOf(name));
    },
    'networks.delete': async (context) => {
      await networks.delete(context.caller, context.params.name);
      return done;
    },
    'networks.state': async (context) => sync(await networks.state(context.params.name)),
    'networks.leases': async (context) => sync(await networks.leases(context.params.name)),
  } satisfies Partial<RouteTable>;
}
