// What every device type must do: turn validated properties into data that a runtime acts on. One file a type.
// Property rules are in server/api/devices; nothing here touches a container.
import type { ConfigMap } from '../../api/common.ts';
import type { MountRun, NicRun } from '../run-parts.ts';

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
}

export interface DeviceRun {
  readonly nics: readonly NicRun[];
  readonly mounts: readonly MountRun[];
  /** To be kept in volatile.<device>.* once started. */
  readonly volatile: ConfigMap;
}

export interface DeviceType {
  /** Called right before a start. Throws DriverError Invalid or NotFound, naming property and value, when the host lacks
   *  what it needs. Idempotent, makes nothing. */
  start(context: DeviceContext): Promise<DeviceRun>;
}

export const nothing: DeviceRun = { nics: [], mounts: [], volatile: {} };
