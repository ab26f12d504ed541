// Host interfaces given whole to a running container are missing for another one. Reads records: the driver only finds the interface
// missing.
import type { DeviceMap } from '../../api/schema/common-schemas.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import type { Problem } from '../../api/problem.ts';
import type { Records } from '../../records/records.ts';
import type { ContainerView } from '../shared/container-view.ts';
import { nicNetwork } from '../shared/expand.ts';
import { containersWith } from '../shared/used-by.ts';

/** Names of the host's interfaces, by device. */
function givenWhole(devices: DeviceMap): readonly (readonly [device: string, name: string])[] {
  return Object.entries(devices).flatMap(([device, properties]) => {
    const name = properties['nictype'] === 'physical' ? nicNetwork(properties) : undefined;
    return name === undefined ? [] : [[device, name] as const];
  });
}

/** `isUp`: whether a container runs, or is about to. */
export function lentProblems(
  { records, view }: { readonly records: Records; readonly view: Pick<ContainerView, 'expanded'> },
  container: string,
  devices: DeviceMap,
  isUp: (name: string) => boolean,
): Problem[] {
  return givenWhole(devices).flatMap(([device, wanted]) => {
    const owner = containersWith(records, 'network', wanted).find(
      (entry) =>
        entry.name !== container &&
        isUp(entry.name) &&
        givenWhole(view.expanded(entry).devices).some(([, name]) => name === wanted),
    );
    if (owner === undefined) return [];
    const isOwn = projectOf(owner.name) === projectOf(container);
    const who = isOwn ? `container ${plainName(owner.name)}` : 'a container of another project';
    const message = `cannot be ${wanted}: ${who} has it while it runs; stop that one, or name another interface`;
    return [{ path: `devices.${device}.parent`, message }];
  });
}
