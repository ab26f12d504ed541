// Containers whose profiles and own devices would put two disks on one path, which the server refuses. Pure.
import { disksOnOnePath, type DeviceConfig } from '../../../server/api/devices/index.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Observed } from '../documents/observed.ts';
import type { DeviceLayer, ExpectedContainer } from './expected-containers.ts';

export const sharedPaths = (containers: readonly ExpectedContainer[], observed: Observed): readonly Diagnostic[] =>
  containers.flatMap((container) => sharedPathsOf(container, observed));

/** Those within one object have a problem of their own; those that the server has already stay. */
function sharedPathsOf(
  { name: container, address, document, layers = [] }: ExpectedContainer,
  { containers, server }: Observed,
): readonly Diagnostic[] {
  // LXD takes such profiles.
  if (document === undefined && server.isGantry !== true) return [];
  const now = containers.get(container)?.object.expanded_devices ?? {};
  const known = new Set([now, ...layers.map(({ sure }) => sure)].flatMap(disksOnOnePath).map(({ name }) => name));
  const merged: Readonly<Record<string, DeviceConfig>> = Object.assign({}, ...layers.map(({ sure }) => sure));
  return disksOnOnePath(merged)
    .filter(({ name }) => !known.has(name))
    .map(({ name, owner, place }) => {
      // Where this set does not declare the container, one of the profiles.
      const at = document ?? layerOf(name, layers)?.document ?? layerOf(owner, layers)?.document;
      return {
        severity: 'error',
        code: 'path-taken',
        address: at?.address ?? address,
        path: `devices.${name}.path`,
        message: `${address} would have two disks at ${place}: ${shown(owner, layers)} and ${shown(name, layers)}`,
        remedy: `change the path of one of them, or hide one: devices: {${name}: {type: none}} in ${address}`,
        ...at?.location,
      };
    });
}

const layerOf = (device: string, layers: readonly DeviceLayer[]): DeviceLayer | undefined =>
  layers.findLast(({ sure }) => Object.hasOwn(sure, device));

function shown(device: string, layers: readonly DeviceLayer[]): string {
  const profile = layerOf(device, layers)?.profile;
  return profile === undefined ? `its own device ${device}` : `the device ${device} of its profile ${profile}`;
}
