// Network ACL endpoints: requests to use cases and back.
import { networkAclUrl, type NetworkAcls } from '../../services/networks/network-acls.ts';
import { collection, done, movedTo, sync, type RouteTable } from '../route.ts';

export function networkAclRoutes({ networkAcls }: { readonly networkAcls: NetworkAcls }) {
  return {
    'networkAcls.list': ({ query }) =>
      collection(
        query,
        () => networkAcls.names().map(networkAclUrl),
        () => networkAcls.list(),
      ),
    'networkAcls.create': async ({ caller, body }) => {
      await networkAcls.create(caller, body);
      return movedTo(networkAclUrl(body.name));
    },
    'networkAcls.get': ({ params }) => {
      const { object, etag } = networkAcls.get(params.name);
      return sync(object, etag);
    },
    'networkAcls.put': async ({ caller, params, body, ifMatch }) => {
      await networkAcls.put(caller, params.name, body, ifMatch);
      return done;
    },
    'networkAcls.patch': async ({ caller, params, body, ifMatch }) => {
      await networkAcls.patch(caller, params.name, body, ifMatch);
      return done;
    },
    'networkAcls.post': async ({ caller, params, body }) => {
      await networkAcls.rename(caller, params.name, body.name);
      return movedTo(networkAclUrl(body.name));
    },
    'networkAcls.delete': async ({ caller, params }) => {
      await networkAcls.delete(caller, params.name);
      return done;
    },
  } satisfies Partial<RouteTable>;
}
