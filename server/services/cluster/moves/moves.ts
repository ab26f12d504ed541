// Changes the state of a cluster member; the dependencies of container moves.
import type { ClusterMemberStatePost } from '../../../api/cluster/cluster.ts';
import { AppError, errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Cluster } from '../../../membership/cluster.ts';
import { noMember } from '../../../membership/members.ts';
import type { Caller } from '../../shared/caller.ts';
import { evacuate } from './evacuate.ts';
import type { MoveInDeps } from './move-in.ts';
import type { MoveOutDeps } from './move-out.ts';
import { restore } from './restore.ts';

export type MoveDeps = MoveInDeps & MoveOutDeps;

/** Whether a migration with this target is a move to another member. */
export const isOnOtherMember = ({ isOn }: Pick<Cluster, 'isOn'>, target: string): boolean =>
  isOn && target !== '' && target !== noMember;

/** POST .../state of this member. */
export function changeMember(deps: MoveDeps, caller: Caller, name: string, body: ClusterMemberStatePost): Operation {
  const { cluster } = deps;
  const why = cluster.isOn ? '' : ': this server is not part of a cluster';
  if (!cluster.isOn || name !== cluster.ownName)
    throw new AppError('notFound', `There is no cluster member ${name}${why}`);
  if (body.action === 'evacuate') return evacuate(deps, caller, body);
  if (body.action === 'restore') return restore(deps, caller, body);
  throw errors.invalid('state of a cluster member', [
    { path: 'action', message: `must be evacuate or restore, is ${JSON.stringify(body.action)}` },
  ]);
}
