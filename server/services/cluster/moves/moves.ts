// Containers that change their member: the use cases in one place.
import type { ClusterArrival, ClusterMemberStatePost, ClusterReturn } from '../../../api/cluster/cluster.ts';
import type { ContainerPost } from '../../../api/container/container.ts';
import { AppError, errors } from '../../../api/errors.ts';
import { noMember } from '../../../membership/members.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Caller } from '../../shared/caller.ts';
import { moveIn, type MoveInDeps } from './move-in.ts';
import { moveOut, type MoveOutDeps } from './move-out.ts';
import { evacuate } from './evacuate.ts';
import { giveBack, restore } from './restore.ts';

export type ClusterMovesDeps = MoveInDeps & MoveOutDeps;

export class ClusterMoves {
  readonly #deps: ClusterMovesDeps;

  constructor(deps: ClusterMovesDeps) {
    this.#deps = deps;
  }

  /** Whether a migration with this target is a move to another member. */
  isElsewhere(target: string): boolean {
    return this.#deps.cluster.isOn && target !== '' && target !== noMember;
  }

  /** The container is one of this member. */
  move(caller: Caller, name: string, target: string, body: ContainerPost): Operation {
    return moveOut(this.#deps, caller, name, target, body);
  }

  /** POST .../state of this member. */
  changeMember(caller: Caller, name: string, body: ClusterMemberStatePost): Operation {
    const { cluster } = this.#deps;
    const why = cluster.isOn ? '' : ': this server is not part of a cluster';
    if (!cluster.isOn || name !== cluster.ownName)
      throw new AppError('notFound', `There is no cluster member ${name}${why}`);
    if (body.action === 'evacuate') return evacuate(this.#deps, caller, body);
    if (body.action === 'restore') return restore(this.#deps, caller, body);
    throw errors.invalid('state of a cluster member', [
      { path: 'action', message: `must be evacuate or restore, is ${JSON.stringify(body.action)}` },
    ]);
  }

  /** Another member, which is restored, asks for it. */
  giveBack(caller: Caller, body: ClusterReturn): Operation {
    return giveBack(this.#deps, caller, body);
  }

  /** Another member sends it. */
  arrive(body: ClusterArrival): Promise<Operation> {
    return moveIn(this.#deps, body);
  }
}
