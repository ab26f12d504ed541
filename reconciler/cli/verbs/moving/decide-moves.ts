// Decides what moves from one server to another, in which order, and what differs there. Pure.
import { decideContainers } from './decide-containers.ts';
import { decideObjects } from './decide-objects.ts';
import { decideVolumes } from './decide-volumes.ts';
import type { Difference, MovePlan, MoveRequest } from './moves.ts';

export function decideMoves(request: MoveRequest): MovePlan {
  const objects = decideObjects(request);
  const behind = new Set(objects.differences.filter(({ effect }) => effect === 'left').map(({ id }) => id));
  const containers = decideContainers(request, behind);
  const volumes = decideVolumes(request, behind, containers.moves);
  return {
    // Profiles come before the volumes that they may name; servers accept that.
    moves: [...objects.moves, ...volumes.moves, ...containers.moves],
    differences: [...aboutServer(request), ...objects.differences, ...volumes.differences, ...containers.differences],
  };
}

function aboutServer({ source: { world, virtualMachines } }: MoveRequest): readonly Difference[] {
  const left = (id: string, text: string): Difference => ({ id, effect: 'left', text });
  return [
    ...virtualMachines.map((name) =>
      left(`virtual-machine/${name}`, 'is a virtual machine: Gantry runs containers only, leave it on LXD'),
    ),
    ...(world.members === undefined
      ? []
      : [
          left(
            'cluster',
            `the source is a cluster of ${[...world.members.keys()].join(', ')}: containers of all members move to one server, spread them there with gantry move --target`,
          ),
        ]),
  ];
}
