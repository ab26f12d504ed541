// The contract of every device type: turns validated properties into data for a runtime and the daemon. One file per type. Property rules
// are in server/api/devices; nothing here touches a container.
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { type DeviceParts, type IdMapEntry, noParts } from '../device-parts.ts';
import type { HostPaths } from './host-paths.ts';
import type { ProxyRun } from './proxy/proxy-plan.ts';

export interface HostVolume {
  readonly path: string;
  /** Whether files of 0:0 on disk belong to the container's root. */
  readonly idmapped: boolean;
  /** Possible id maps of its files on disk, the recorded one first. Absent: unknown. */
  readonly fileMaps?: readonly (readonly IdMapEntry[])[];
}

export interface DeviceContext {
  readonly device: string;
  readonly properties: ConfigMap;
  /** Immutable id of the container; stable host names are derived from it. */
  readonly containerUuid: string;
  /** Values that the server keeps for this device: hwaddr, name … (volatile.<device>.*). */
  readonly volatile: ConfigMap;
  readonly takenNames: ReadonlySet<string>;
  /** The container's root file system on the host. */
  readonly rootfs: string;
  readonly host: HostPaths;
  /** Directories of the host that disks may show, including all below them. Absent: any. */
  readonly shownPaths?: readonly string[];
  /** Undefined: the custom volume does not exist. */
  readonly volumeOf: (pool: string, name: string) => HostVolume | undefined;
}

export interface DeviceRun extends DeviceParts {
  /** Values to keep in volatile.<device>.* after the start. */
  readonly volatile: ConfigMap;
  /** Forwards that the daemon keeps open while the container runs. */
  readonly proxies: readonly ProxyRun[];
  /** Directories of the host whose changes may add or remove parts of this device. */
  readonly watch: readonly string[];
  /** Properties that this host cannot provide, although the device works. */
  readonly warnings: readonly string[];
}

/** The stages in the life of a device. Each names its caller, which holds the lock of the container. */
export interface DeviceHandler {
  /** False for devices that need nothing from the host, which a dry run can start. Absent: every device needs its host. */
  readonly needsHost?: (properties: ConfigMap) => boolean;
  /** Whether nodes appear and disappear with the hardware of the host. Absent: never. */
  readonly followsHardware?: (properties: ConfigMap) => boolean;
  /** Called by `deviceRuns` right before a container starts, before a device is plugged in or changed, and when its hardware changed.
   *  Throws DriverError Invalid, NotFound or NotSupported, naming property and value, if the host lacks a requirement. Idempotent; changes
   *  nothing on the host. */
  start(context: DeviceContext): Promise<DeviceRun>;
  /** Called by `RunningDevices` if only adjustable properties of a plugged device changed: the parts in force afterwards, or 'replug' if it
   *  must be unplugged and plugged in again. Absent: the new parts. */
  change?(before: DeviceParts, after: DeviceParts): DeviceParts | 'replug';
  /** Forwards of the device, from its properties alone. Called by `RunningDevices` for a container that another daemon started, after a
   *  reboot from inside, and when an unplug is undone; `start` returns the same ones. Absent: none. */
  forwards?(device: string, properties: ConfigMap): readonly ProxyRun[];
}

export const nothing: DeviceRun = { ...noParts, volatile: {}, proxies: [], watch: [], warnings: [] };
