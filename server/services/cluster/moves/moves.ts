// Containers that change their member: the use cases in one place.
import type { ClusterArrival } from '../../../api/cluster/cluster.ts';
import type { ContainerPost } from '../../../api/container/container.ts';
import { noMember } from '../../../cluster/members.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Caller } from '../../caller.ts';
import { moveIn, type MoveInDeps } from './move-in.ts';
import { moveOut, type MoveOutDeps } from './move-out.ts';

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

  /** Another member sends it. */
  arrive(body: ClusterArrival): Promise<Operation> {
    return moveIn(this.#deps, body);
  }
}
