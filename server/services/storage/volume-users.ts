// Who uses a custom volume: the containers and profiles with a disk device that names it.
import { containerUrl } from '../../api/project/project-names.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import type { Changes, Records } from '../../records/records.ts';
import { containersWith } from '../used-by.ts';
import { attachedVolumes } from '../expand.ts';

export interface VolumeId {
  readonly pool: string;
  readonly name: string;
}

export const volumeKey = ({ pool, name }: VolumeId): string => `${pool}/${name}`;

const isOf = (device: ConfigMap, { pool, name }: VolumeId): boolean =>
  device['type'] === 'disk' && device['pool'] === pool && device['source'] === name;

const names = (devices: DeviceMap, volume: VolumeId): boolean =>
  attachedVolumes(devices).some((used) => used.pool === volume.pool && used.name === volume.name);

/** Names of containers, also of those that have the device from a profile. */
export function containersUsing(records: Records, volume: VolumeId): readonly string[] {
  return containersWith(records, 'volume', volumeKey(volume)).map((entry) => entry.name);
}

export function profilesUsing(records: Records, volume: VolumeId): readonly string[] {
  return records.profiles
    .list()
    .filter(({ document }) => names(document.devices, volume))
    .map((entry) => entry.name);
}

export function volumeUsers(records: Records, volume: VolumeId): readonly string[] {
  return [
    ...containersUsing(records, volume).map((name) => containerUrl(name)),
    ...profilesUsing(records, volume).map((name) => `/1.0/profiles/${encodeURIComponent(name)}`),
  ];
}

export function runningUsers(records: Records, runtime: RuntimeDriver, volume: VolumeId): readonly string[] {
  return containersUsing(records, volume).filter((name) => runtime.probe(name).status !== 'stopped');
}

/** The devices of containers and profiles follow a volume to its new place. */
export function moveUsers(changes: Changes, records: Records, from: VolumeId, to: VolumeId): void {
  const moved = (devices: DeviceMap): DeviceMap =>
    Object.fromEntries(
      Object.entries(devices).map(([name, device]) => [
        name,
        isOf(device, from) ? { ...device, pool: to.pool, source: to.name } : device,
      ]),
    );
  for (const { name, document } of records.containers.list()) {
    if (names(document.devices, from))
      changes.put('containers', name, { ...document, devices: moved(document.devices) });
  }
  for (const { name, document } of records.profiles.list()) {
    if (names(document.devices, from)) changes.put('profiles', name, { ...document, devices: moved(document.devices) });
  }
}
