// What is wrong with the profiles, the disks and the networks of a planned container. Pure but for reads of records.
import type { DeviceMap } from '../../../api/schema/common-schemas.ts';
import { isDisk, isNic, rootDisk } from '../../../api/devices/index.ts';
import { hint } from '../../../api/text/nearest-word.ts';
import type { Problem } from '../../../api/problem.ts';
import { customOnlyDrivers } from '../../../api/storage/pool-drivers.ts';
import { poolOfLimit, setLimits } from '../../../api/project/project-limits.ts';
import { plainName } from '../../../api/project/project-names.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { Records } from '../../../records/records.ts';
import { nicNetwork } from '../../shared/expand.ts';
import { ofProject, profileIn, projectWith } from '../../shared/project-scope.ts';
import { ipFamilies, isFiltering } from '../../networks/nic-filtering.ts';
import type { Pools } from '../../storage/pools.ts';
import { limitingPools, rootSize } from '../../storage/root-size.ts';

export interface DraftDeps {
  readonly records: Records;
  readonly pools: Pick<Pools, 'canLimit'>;
}

export function profileProblems(records: Records, project: string, profiles: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const [index, profile] of profiles.entries()) {
    const path = `profiles.${index}`;
    if (seen.has(profile)) problems.push({ path, message: `the profile ${profile} is listed twice` });
    seen.add(profile);
    if (records.profiles.has(profileIn(records, project, profile))) continue;
    const there = ofProject(records.profiles.list(), projectWith(records, project, 'features.profiles'));
    const known = there.map((entry) => plainName(entry.name));
    problems.push({ path, message: `there is no profile ${profile}${hint(profile, known)}` });
  }
  return problems;
}

export function rootProblems(
  { records, pools }: DraftDeps,
  project: string,
  devices: DeviceMap,
  pool: string | undefined,
  previous: ContainerDocument | undefined,
): Problem[] {
  if (pool === undefined || pool === '') {
    const message =
      'no root disk: give a profile or the container a device of type disk with path / and a pool, for example root: {type: disk, path: /, pool: default}';
    return [{ path: 'devices', message }];
  }
  if (previous !== undefined && previous.pool !== pool) {
    return [
      { path: 'devices', message: `the root disk is in pool ${previous.pool} and cannot move to ${pool} by an update` },
    ];
  }
  const root = rootDisk(devices);
  const driver = records.pools.get(pool)?.document.driver ?? '';
  const limit = setLimits(records.projects.get(project)?.document.config ?? {}).find(
    (key) => key === 'limits.disk' || poolOfLimit(key) === pool,
  );
  if (root !== undefined && customOnlyDrivers.includes(driver)) {
    const message = `the pool ${pool} of driver ${driver} holds custom volumes only; put the root disk in a pool of another driver`;
    return [{ path: `devices.${root.name}.pool`, message }];
  }
  // Elsewhere an ineffective size is a warning, as with LXD: here other containers rely on it.
  if (root !== undefined && limit !== undefined && rootSize(devices) !== undefined && !pools.canLimit(pool)) {
    const message = `the pool ${pool} of driver ${driver} cannot limit sizes, which ${limit} of the project ${project} needs; use ${limitingPools}`;
    return [{ path: `devices.${root.name}.size`, message }];
  }
  return Object.entries(devices).flatMap(([name, device]) => {
    const { pool: asked } = device;
    if (!isDisk(device) || asked === undefined || records.pools.has(asked)) return [];
    const known = records.pools.list().map((entry) => entry.name);
    return [{ path: `devices.${name}.pool`, message: `there is no storage pool ${asked}${hint(asked, known)}` }];
  });
}

/** A parent is checked at the start; a named network is managed here. */
export function networkProblems(records: Records, devices: DeviceMap): Problem[] {
  return Object.entries(devices).flatMap(([name, device]) => {
    const { network = '' } = device;
    if (!isNic(device) || network === '' || records.networks.has(network)) return [];
    const known = records.networks.list().map((each) => each.name);
    const message = `there is no managed network ${network}${hint(network, known)}`;
    return [{ path: `devices.${name}.network`, message }];
  });
}

/** Only managed networks reserve addresses. */
export function filterProblems(records: Records, devices: DeviceMap): Problem[] {
  return Object.entries(devices).flatMap(([name, properties]) => {
    const parent = nicNetwork(properties);
    if (parent === undefined || records.networks.has(parent)) return [];
    return ipFamilies
      .filter((family) => isFiltering(properties, family) && (properties[`ipv${family}.address`] ?? '') === '')
      .map((family) => ({
        path: `devices.${name}.security.ipv${family}_filtering`,
        message: `needs ipv${family}.address: ${parent} is no managed network, so no address can be reserved on it`,
      }));
  });
}
