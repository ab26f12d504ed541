// Cluster membership of a server that is in no cluster (spec 4.13): reading it, and refusing to form or join one.
import type { Cluster, ClusterPut } from '../../api/cluster/cluster.ts';
import { AppError, errors } from '../../api/errors.ts';
import type { Problem } from '../../api/problem.ts';
import { checkIfMatch, etagOf } from '../etag.ts';

const unclustered: Cluster = { server_name: '', enabled: false, member_config: [] };
const etag = etagOf.cluster(unclustered);

export const readCluster = (): { readonly object: Cluster; readonly etag: string } => ({ object: unclustered, etag });

/** Only leaving is accepted, which changes nothing: there is no cluster to leave. */
export function changeCluster(wanted: ClusterPut, ifMatch: string | undefined): void {
  const problems = problemsOf(wanted);
  if (problems.length > 0) throw errors.invalid('cluster membership', problems);
  checkIfMatch(ifMatch, etag, 'server', 'cluster membership');
  if (!wanted.enabled) return;
  const action = wanted.cluster_address ? `join the cluster at ${wanted.cluster_address}` : 'form a cluster';
  throw errors.notImplemented(
    `The server cannot ${action}: this release has no clusters. To manage several servers together, use a hosts file`,
  );
}

export function memberNotFound(name: string): never {
  throw new AppError('notFound', `There is no cluster member ${name}: this server is not part of a cluster`);
}

function problemsOf({ enabled, server_name: name = '' }: ClusterPut): readonly Problem[] {
  if (enabled && name === '') return [{ path: 'server_name', message: 'must be set when enabled is true' }];
  if (!enabled && name !== '') return [{ path: 'server_name', message: 'must be empty when enabled is false' }];
  return [];
}
