// Handles both servers on one host: the old server's bridge stays and also serves the new server's containers. Pure.
import { mapOf, presentDevices } from '../../../core/documents/json-values.ts';
import type { JsonObject } from '../../../core/documents/document.ts';
import type { Observed } from '../../../core/documents/observed.ts';
import type { Devices } from './moves.ts';

/** The message for a network whose bridge on the target's host belongs to another program. */
export const onHostBridges = (name: string): string =>
  `its bridge is on the target's host already: containers are attached to it as to a bridge of the host and keep their addresses, the source continues to serve it (docs/daemon/moving-from-lxd.md says how to take it over)`.replace(
    'its bridge',
    `the bridge ${name}`,
  );

/** Keys of a nic that only the server of its network can serve. */
const served = new Set([
  'network',
  'ipv4.address',
  'ipv6.address',
  'nictype',
  'parent',
  'security.ipv4_filtering',
  'security.ipv6_filtering',
]);

/** Rewrites nics of such networks to name the bridge as parent. Undefined: there is none. */
export function onParents(devices: JsonObject, target: Observed): Devices | undefined {
  const found = Object.entries(presentDevices(devices)).filter(([, device]) => isHostBridge(device, target));
  if (found.length === 0) return undefined;
  const changed = found.map(([name, device]) => {
    const rest = Object.fromEntries(Object.entries(device).filter(([key]) => !served.has(key)));
    return [name, { ...rest, nictype: 'bridged', parent: device['network'] ?? device['parent'] ?? '' }] as const;
  });
  return { ...presentDevices(mapOf(devices)), ...Object.fromEntries(changed) };
}

const isHostBridge = (device: Readonly<Record<string, string>>, { networks }: Observed): boolean =>
  device['type'] === 'nic' &&
  device['network'] !== undefined &&
  networks.get(device['network'])?.object.managed === false;
