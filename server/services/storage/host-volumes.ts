// Paths of custom volumes on the host, for the devices that attach them.
import type { ServiceParts } from '../shared/service-parts.ts';
import { isTrue } from '../../api/container/container-config.ts';
import { errors } from '../../api/errors.ts';
import { projectOf } from '../../api/project/project-names.ts';
import type { HostVolume } from '../../drivers/devices/device.ts';
import { parseIdMap, renderIdMap } from '../../drivers/runtime/idmap/plan.ts';
import { type VolumeId, volumeKey } from '../../records/record-names.ts';
import { volumeIn } from '../shared/project-scope.ts';
import type { Pools } from './pools.ts';
import { runningUsers } from './volume-users.ts';

export type HostVolumes = (pool: string, name: string) => HostVolume | undefined;

interface Deps extends Pick<ServiceParts, 'records' | 'runtime'> {
  readonly pools: Pools;
}

/** By the container's names. Throws AppError badRequest if it cannot attach them now, unless they are attached. */
export function hostVolumes(deps: Deps, user: string, isAttached = false): HostVolumes {
  return (pool, plain) => {
    const name = volumeIn(deps.records, projectOf(user), plain);
    const document = deps.records.volumes.get(volumeKey({ pool, name }))?.document;
    if (document?.lifecycle !== 'ready') return undefined;
    const idmapped = !isTrue(document.config['security.unmapped'] ?? '');
    if (idmapped && !isAttached && !deps.runtime.rootfsIdmapped) checkMap(deps, { pool, name }, user);
    return { path: deps.pools.volumePath(pool, { type: 'custom', name }), idmapped };
  };
}

/** If files on disk are shifted to a container's ids, no other container can use them at the same time; and only the common map is known
 *  later. */
function checkMap(deps: Deps, volume: VolumeId, user: string): void {
  const refuse = (why: string): never => {
    throw errors.badRequest(
      `The volume ${volume.name} of pool ${volume.pool} cannot be given to ${user}: this host cannot mount it through an id map, and ${why}`,
    );
  };
  const mapOf = (name: string) => parseIdMap(deps.records.containers.get(name)?.document.config[currentMap]) ?? [];
  const map = mapOf(user);
  const base = Number(deps.records.containers.get(user)?.document.config['volatile.idmap.base'] ?? '0');
  if (base > 0 || map.length > 2)
    refuse(
      'the container has a map of its own (security.idmap.isolated, raw.idmap): take that away, or set security.unmapped of the volume',
    );
  const other = runningUsers(deps.records, deps.runtime, volume).find(
    (name) => name !== user && renderIdMap(mapOf(name)) !== renderIdMap(map),
  );
  if (other !== undefined)
    refuse(`${other} is using it with another one: stop ${other}, or set security.unmapped of the volume`);
}

const currentMap = 'volatile.idmap.current';
