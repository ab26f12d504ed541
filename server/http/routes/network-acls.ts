// Network ACL endpoints: requests to use cases and back.
import { networkAclUrl, type NetworkAcls } from '../../services/networks/network-acls.ts';
import { collection, doneAfter, found, movedAfter, type RouteTable } from '../route.ts';

export function networkAclRoutes({ networkAcls }: { readonly networkAcls: NetworkAcls }) {
  return {
    'networkAcls.list': ({ query }) =>
      collection(
        query,
        () => networkAcls.names().map(networkAclUrl),
        () => networkAcls.list(),
      ),
    'networkAcls.create': ({ caller, body }) => movedAfter(networkAcls.create(caller, body), networkAclUrl(body.name)),
    'networkAcls.get': ({ params }) => found(networkAcls.get(params.name)),
    'networkAcls.put': ({ caller, params, body, ifMatch }) =>
      doneAfter(networkAcls.put(caller, params.name, body, ifMatch)),
    'networkAcls.patch': ({ caller, params, body, ifMatch }) =>
      doneAfter(networkAcls.patch(caller, params.name, body, ifMatch)),
    'networkAcls.post': ({ caller, params, body }) =>
      movedAfter(networkAcls.rename(caller, params.name, body.name), networkAclUrl(body.name)),
    'networkAcls.delete': ({ caller, params }) => doneAfter(networkAcls.delete(caller, params.name)),
  } satisfies Partial<RouteTable>;
}
