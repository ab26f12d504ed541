// The users of a custom volume: containers and profiles with a disk device that names it, in the projects that use the volume's project.
import { isDisk } from '../../api/devices/index.ts';
import { containerUrl, plainName, profileUrl, projectOf } from '../../api/project/project-names.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import type { Changes, Records } from '../../records/records.ts';
import { type VolumeId, volumeKey } from '../../records/record-names.ts';
import { containersWith } from '../shared/used-by.ts';
import { attachedVolumes } from '../shared/expand.ts';
import { profileIn, projectWith } from '../shared/project-scope.ts';

/** Devices use the plain name. */
const isOf = (device: ConfigMap, { pool, name }: VolumeId): boolean =>
  isDisk(device) && device['pool'] === pool && device['source'] === plainName(name);

const names = (devices: DeviceMap, { pool, name }: VolumeId): boolean =>
  attachedVolumes(devices).some((used) => used.pool === pool && used.name === plainName(name));

/** Whether a volume name in this container or profile means a volume of the volume's project. */
const isInScope = (records: Records, owner: string, volume: VolumeId): boolean =>
  projectWith(records, projectOf(owner), 'features.storage.volumes') === projectOf(volume.name);

/** Names of containers, including those with the device from a profile. */
export function containersUsing(records: Records, volume: VolumeId): readonly string[] {
  return containersWith(records, 'volume', volumeKey(volume)).map((entry) => entry.name);
}

/** A profile of another project that containers of this one use is no user itself: it means volumes of its own project. */
export function profilesUsing(records: Records, volume: VolumeId): readonly string[] {
  return records.profiles
    .list()
    .filter(({ name, document }) => names(document.devices, volume) && isInScope(records, name, volume))
    .map((entry) => entry.name);
}

export function volumeUsers(records: Records, volume: VolumeId): readonly string[] {
  return [
    ...containersUsing(records, volume).map((name) => containerUrl(name)),
    ...profilesUsing(records, volume).map(profileUrl),
  ];
}

export function runningUsers(records: Records, runtime: RuntimeDriver, volume: VolumeId): readonly string[] {
  return containersUsing(records, volume).filter((name) => runtime.probe(name).status !== 'stopped');
}

/** Updates the devices of containers and profiles to the volume's new place. */
export function moveUsers(changes: Changes, records: Records, from: VolumeId, to: VolumeId): void {
  const moved = (devices: DeviceMap): DeviceMap =>
    Object.fromEntries(
      Object.entries(devices).map(([name, device]) => [
        name,
        isOf(device, from) ? { ...device, pool: to.pool, source: plainName(to.name) } : device,
      ]),
    );
  const follows = ({ name, document }: { readonly name: string; readonly document: { readonly devices: DeviceMap } }) =>
    names(document.devices, from) && isInScope(records, name, from);
  for (const { name, document } of records.containers.list().filter(follows))
    changes.put('containers', name, { ...document, devices: moved(document.devices) });
  for (const { name, document } of records.profiles.list().filter(follows))
    changes.put('profiles', name, { ...document, devices: moved(document.devices) });
}

/** Containers that would lose the volume if it moved: all of them if it leaves its project; otherwise those that have it from another
 *  project's profile, which cannot follow. */
export function usersLeftBehind(records: Records, from: VolumeId, to: VolumeId): readonly string[] {
  const leaves = projectOf(from.name) !== projectOf(to.name);
  if (leaves) return volumeUsers(records, from);
  const isForeign = (container: string): boolean => {
    const document = records.containers.get(container)?.document;
    if (document === undefined || names(document.devices, from)) return false;
    const profiles = document.profiles.map((profile) => profileIn(records, projectOf(container), profile));
    return !profiles.some((profile) => {
      const found = records.profiles.get(profile)?.document;
      return found !== undefined && names(found.devices, from) && isInScope(records, profile, from);
    });
  };
  return containersUsing(records, from)
    .filter(isForeign)
    .map((name) => containerUrl(name));
}
