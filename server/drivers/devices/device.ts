// The contract of every device type: turn validated properties into data that a runtime and the daemon act on. One file a type.
// Property rules are in server/api/devices; nothing here touches a container.
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { type DeviceParts, type IdMapEntry, noParts } from '../device-parts.ts';
import type { HostPaths } from './host-paths.ts';
import type { ProxyRun } from './proxy/proxy-plan.ts';

/** A volume of a storage pool on this host. */
export interface HostVolume {
  readonly path: string;
  /** What belongs to 0:0 on disk is to belong to the container's root. */
  readonly idmapped: boolean;
  /** Maps that its files may be in on disk, the recorded one first. Absent: not known. */
  readonly fileMaps?: readonly (readonly IdMapEntry[])[];
}

export interface DeviceContext {
  /** Device name in the container. */
  readonly device: string;
  readonly properties: ConfigMap;
  /** Immutable id of the container, to derive stable host names from. */
  readonly containerUuid: string;
  /** Kept by the server for this device: hwaddr, name … (volatile.<device>.*). */
  readonly volatile: ConfigMap;
  /** Interface names already taken by other nics of the container. */
  readonly takenNames: ReadonlySet<string>;
  /** The container's root file system on the host. */
  readonly rootfs: string;
  readonly host: HostPaths;
  /** Directories of the host that disks may show, with all below them. Absent: any. */
  readonly shownPaths?: readonly string[];
  /** Undefined: there is no such custom volume. */
  readonly volumeOf: (pool: string, name: string) => HostVolume | undefined;
}

export interface DeviceRun extends DeviceParts {
  /** To be kept in volatile.<device>.* once started. */
  readonly volatile: ConfigMap;
  /** Forwards that the daemon itself keeps while the container runs. */
  readonly proxies: readonly ProxyRun[];
  /** Directories of the host whose changes may bring or take parts of this device. */
  readonly watch: readonly string[];
  /** Properties that this host cannot serve, though the device works. */
  readonly warnings: readonly string[];
}

/** The turns in the life of a device. Each says who calls it; the caller holds the lock of the container. */
export interface DeviceHandler {
  /** False for devices that need nothing of the host, which a dry run can start. Absent: every device needs its host. */
  readonly needsHost?: (properties: ConfigMap) => boolean;
  /** Whether nodes appear and disappear with the hardware of the host. Absent: never. */
  readonly followsHardware?: (properties: ConfigMap) => boolean;
  /** Called by `deviceRuns` right before a container starts, before a device is plugged in or changed, and when its hardware changed.
   *  Throws DriverError Invalid, NotFound or NotSupported, naming property and value, when the host lacks what it needs. Idempotent;
   *  changes nothing on the host. */
  start(context: DeviceContext): Promise<DeviceRun>;
  /** Called by `RunningDevices` when only adjustable properties of a plugged device changed: the parts that are in force afterwards, or
   *  'replug' where it must be unplugged and plugged in again. Absent: the new parts. */
  change?(before: DeviceParts, after: DeviceParts): DeviceParts | 'replug';
  /** Forwards of the device, from its properties alone. Called by `RunningDevices` for a container that another daemon started, after a
   *  reboot from inside, and when an unplugging is undone; `start` returns the same ones. Absent: none. */
  forwards?(device: string, properties: ConfigMap): readonly ProxyRun[];
}

export const nothing: DeviceRun = { ...noParts, volatile: {}, proxies: [], watch: [], warnings: [] };
