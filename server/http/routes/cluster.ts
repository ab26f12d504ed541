// Cluster endpoints: requests to use cases and back.
import { changeCluster, memberNotFound, readCluster } from '../../services/server/cluster.ts';
import { done, sync, type RouteTable } from '../route.ts';

export function clusterRoutes() {
  return {
    'cluster.get': () => {
      const { object, etag } = readCluster();
      return sync(object, etag);
    },
    'cluster.put': ({ body, ifMatch }) => {
      changeCluster(body, ifMatch);
      return done;
    },
    // A server outside a cluster has no members.
    'members.list': () => sync([]),
    'members.get': ({ params }) => memberNotFound(params.name),
    'members.post': ({ params }) => memberNotFound(params.name),
    'members.delete': ({ params }) => memberNotFound(params.name),
  } satisfies Partial<RouteTable>;
}
