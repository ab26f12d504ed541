// Decides about custom volumes, and which containers stop before one is copied. Pure.
import type { JsonObject } from '../../../core/documents/document.ts';
import { asText, presentTexts, textOf } from '../../../core/documents/json-values.ts';
import { scopesOf } from '../../../core/live/project-scope.ts';
import { compareText } from '../../../core/text/listing-order.ts';
import { plainName } from '../../../core/text/scoped-name.ts';
import { volumesOf } from './decide-containers.ts';
import { fit } from './fit.ts';
import type { ContainerMove, Difference, MoveRequest, VolumeMove } from './moves.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

interface Decided {
  readonly moves: readonly VolumeMove[];
  readonly differences: readonly Difference[];
}

export function decideVolumes(
  request: MoveRequest,
  behind: ReadonlySet<string>,
  containers: readonly ContainerMove[],
): Decided {
  const parts = [...request.source.world.volumes]
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, { object }]) => decideVolume(request, key, object as unknown as JsonObject, behind, containers));
  return { moves: parts.flatMap(({ moves }) => moves), differences: parts.flatMap(({ differences }) => differences) };
}

function decideVolume(
  { source, target, begun }: MoveRequest,
  key: string,
  live: JsonObject,
  behind: ReadonlySet<string>,
  containers: readonly ContainerMove[],
): Decided {
  const id = `storage_volume/${key}`;
  const left = (text: string): Decided => ({ moves: [], differences: [{ id, effect: 'left', text }] });
  const project = textOf(live['project']);
  const pool = asText(live['pool']);
  const content = textOf(live['content_type']) ?? 'filesystem';
  if (content !== 'filesystem' && content !== '')
    return left(`holds ${content}, and the protocol of migration carries file systems`);
  if (behind.has(`storage_pool/${pool}`) && !target.pools.has(pool)) return left(`its pool ${pool} stays behind`);
  if (target.volumes.has(key) && !begun.has(id))
    return left('exists on the target already and stays as it is there: delete one of them, or go on if that is right');
  const name = plainName(asText(live['name']), project);
  const config = Object.fromEntries(
    Object.entries(presentTexts(live['config'])).filter(([one]) => !one.startsWith('volatile.')),
  );
  const { values = {}, differences } = fit('storage_volume', id, name, { pool, config }, target);
  const users = usersOf(source.world, key, containers);
  const stops = users.filter(({ isRunning }) => isRunning);
  const waits: readonly Difference[] =
    stops.length === 0
      ? []
      : [
          {
            id,
            effect: 'changed',
            text: `${stops.map(({ name: user }) => user).join(', ')} stay stopped while it is copied, which is once: volumes have no second pass`,
          },
        ];
  const move: VolumeMove = {
    id,
    type: 'volume',
    name,
    ...withoutUndefined({ project }),
    pool,
    description: asText(live['description']),
    config: presentTexts(values['config']),
    stops,
  };
  return { moves: [move], differences: [...differences, ...waits] };
}

function usersOf(
  world: MoveRequest['source']['world'],
  key: string,
  containers: readonly ContainerMove[],
): readonly ContainerMove[] {
  const { keyOf } = scopesOf(world);
  return containers.filter(({ id, project }) => {
    const live = world.containers.get(id.slice('container/'.length))?.object as unknown as JsonObject;
    return volumesOf(live).some((volume) => keyOf('storage_volume', volume, project) === key);
  });
}
