// Single devices of a running container: how one is plugged in, what a change of it changes, and what it needs kept up.
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import type { DeviceParts } from '../../../drivers/device-parts.ts';
import { type DeviceRun, nothing } from '../../../drivers/devices/device.ts';
import { deviceHandler } from '../../../drivers/devices/index.ts';
import type { ProxyRun } from '../../../drivers/devices/proxy/proxy-plan.ts';
import type { Plug } from '../../../drivers/runtime/driver.ts';

export const followsHardware = (properties: ConfigMap | undefined): boolean =>
  properties !== undefined && deviceHandler(properties)?.followsHardware?.(properties) === true;

export const forwardsOf = (device: string, properties: ConfigMap): readonly ProxyRun[] =>
  deviceHandler(properties)?.forwards?.(device, properties) ?? [];

export const changedParts = (plug: Plug, was: Plug): DeviceParts | 'replug' =>
  deviceHandler(plug.properties)?.change?.(was, plug) ?? plug;

export function plugOf(device: string, properties: ConfigMap, run: DeviceRun = nothing): Plug {
  const { nics, mounts, nodes, diskRates } = run;
  return { device, properties, nics, mounts, nodes, diskRates };
}
