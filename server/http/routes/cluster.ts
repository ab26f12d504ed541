// Cluster endpoints: requests to use cases and back.
import { errors } from '../../api/errors.ts';
import type { ClusterMoves } from '../../services/cluster/moves/moves.ts';
import type { ClusterMembership } from '../../services/cluster/cluster-membership.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { async_, collection, done, movedTo, sync, type RouteContext, type RouteTable } from '../route.ts';

export function clusterRoutes(membership: ClusterMembership, moves: ClusterMoves) {
  return {
    'cluster.get': () => {
      const { object, etag } = membership.get();
      return sync(object, etag);
    },
    'cluster.put': async (context) => {
      const { caller, body, ifMatch } = context;
      if (isMember(context) && !body.enabled) {
        await membership.leave(caller);
        return done;
      }
      const operation = membership.change(caller, body, ifMatch);
      return operation === undefined ? done : async_(operation);
    },
    'cluster.arrivals': async (context) => {
      if (!isMember(context)) throw errors.forbidden('Only members of the cluster send containers to each other');
      return async_(await moves.arrive(context.body));
    },
    'cluster.accept': async ({ caller, body, signal }) => sync(await membership.accept(caller, body, signal)),
    'members.list': ({ query }) =>
      collection(
        query,
        () => membership.names().map((name) => `/1.0/cluster/members/${name}`),
        () => membership.members(),
      ),
    'members.create': async ({ body }) => async_(await membership.makeToken(body.server_name)),
    'members.get': ({ params }) => {
      const { object, etag } = membership.member(params.name);
      return sync(object, etag);
    },
    'members.post': async ({ caller, params, body }) => {
      await membership.rename(caller, params.name, body.server_name);
      return movedTo(`/1.0/cluster/members/${body.server_name}`);
    },
    'members.delete': ({ caller, params, query }) =>
      async_(membership.remove(caller, params.name, isTrue(query.force))),
  } satisfies Partial<RouteTable>;
}

/** Another member asks for itself: it passes no request on. */
const isMember = ({ caller, isForwarded = false }: Pick<RouteContext, 'caller' | 'isForwarded'>): boolean =>
  isForwarded && caller.requestor.protocol === 'cluster';
