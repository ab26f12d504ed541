// Cluster endpoints: requests to use cases and back.
import type { CertificateChange } from '../../services/cluster/certificate/certificate-change.ts';
import type { KeyChange } from '../../services/cluster/keys/key-change.ts';
import { moveIn } from '../../services/cluster/moves/move-in.ts';
import { changeMember, type MoveDeps } from '../../services/cluster/moves/moves.ts';
import { giveBack } from '../../services/cluster/moves/restore.ts';
import type { ClusterMembership } from '../../services/cluster/cluster-membership.ts';
import { departVolume, type DepartureDeps } from '../../services/transfer/migration/volume-source.ts';
import { errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { statusCodes } from '../../api/status.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import {
  async_,
  collection,
  done,
  doneAfter,
  found,
  movedAfter,
  type RouteContext,
  type RouteTable,
  sync,
} from '../route.ts';

/** The request's dialect, and waiting for an operation. */
interface ClusterRouteEdge {
  readonly dialect: string;
  readonly ended: (operation: Operation) => Promise<Operation>;
}

interface ClusterServices {
  readonly clusterMembership: ClusterMembership;
  readonly moveDeps: MoveDeps;
  readonly migrationDeps: DepartureDeps;
  readonly certificateChange: CertificateChange;
  readonly keyChange: KeyChange;
}

export function clusterRoutes(
  { clusterMembership: membership, moveDeps, migrationDeps, certificateChange, keyChange }: ClusterServices,
  { dialect, ended }: ClusterRouteEdge,
) {
  return {
    'cluster.get': ({ caller }) => found(membership.get(caller)),
    'cluster.put': async (context) => {
      const { caller, body, ifMatch } = context;
      if (isMember(context) && !body.enabled) {
        await membership.leave(caller);
        return done;
      }
      const operation = membership.change(caller, body, ifMatch);
      return operation === undefined ? done : async_(operation);
    },
    'cluster.certificate.put': ({ caller, body }) => doneAfter(certificateChange.update(caller, body)),
    'members.state.post': ({ caller, params, body }) => async_(changeMember(moveDeps, caller, params.name, body)),
    'cluster.returns': async (context) => {
      if (!isMember(context)) throw errors.forbidden('Only members of the cluster ask each other for containers');
      return async_(await giveBack(moveDeps, context.caller, context.body));
    },
    'cluster.arrivals': async (context) => {
      if (!isMember(context)) throw errors.forbidden('Only members of the cluster send containers to each other');
      return async_(await moveIn(moveDeps, context.body));
    },
    'cluster.departures': (context) => {
      if (!isMember(context)) throw errors.forbidden('Only members of the cluster send volumes to each other');
      return async_(departVolume(migrationDeps, context.caller, context.body));
    },
    'cluster.keys.get': (context) => {
      if (!isMember(context)) throw errors.forbidden('Only members of the cluster get its keys from each other');
      return sync(keyChange.get());
    },
    'cluster.keys.post': ({ caller }) => async_(keyChange.rotate(caller)),
    'cluster.accept': async ({ caller, body, signal }) => sync(await membership.accept(caller, body, signal)),
    'members.list': ({ query }) =>
      collection(
        query,
        () => membership.names().map((name) => `/1.0/cluster/members/${name}`),
        () => membership.members(),
      ),
    'members.create': async ({ body }) => async_(await membership.tokens.make(body.server_name)),
    'members.get': ({ params }) => found(membership.member(params.name)),
    'members.post': ({ caller, params, body }) =>
      movedAfter(membership.rename(caller, params.name, body.server_name), `/1.0/cluster/members/${body.server_name}`),
    // LXD clients take the answer for the completed removal.
    'members.delete': async ({ caller, params, query }) => {
      // LXD's command line asks before it forces.
      const isEvenOnline = isTrue(query.online) || dialect === 'lxd';
      const operation = membership.remove(caller, params.name, { isForced: isTrue(query.force), isEvenOnline });
      if (dialect !== 'lxd') return async_(operation);
      const { status_code: code, err } = await ended(operation);
      if (code !== statusCodes.success) throw errors.internal(err);
      return done;
    },
  } satisfies Partial<RouteTable>;
}

/** Another member's own request, not a forwarded one. */
const isMember = ({ caller, isForwarded = false }: Pick<RouteContext, 'caller' | 'isForwarded'>): boolean =>
  isForwarded && caller.requestor.protocol === 'cluster';
