// Containers whose profiles and own devices would put two disks on one path, which the server refuses. Pure.
import { disksOnOnePath, type DeviceConfig } from '../../../server/api/devices/index.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Observed } from '../documents/observed.ts';
import type { DeviceLayer, ExpectedContainer } from './expected-containers.ts';

export const sharedPaths = (containers: readonly ExpectedContainer[], observed: Observed): readonly Diagnostic[] =>
  containers.flatMap((container) => sharedPathsOf(container, observed));

/** Those within one object have a problem of their own; those that the server has already stay. */
function sharedPathsOf(
  { address, document, layers = [] }: ExpectedContainer,
  { containers }: Observed,
): readonly Diagnostic[] {
  if (document === undefined) return [];
  const now = containers.get(document.name)?.object.expanded_devices ?? {};
  const known = new Set([now, ...layers.map(({ sure }) => sure)].flatMap(disksOnOnePath).map(({ name }) => name));
  const merged: Readonly<Record<string, DeviceConfig>> = Object.assign({}, ...layers.map(({ sure }) => sure));
  return disksOnOnePath(merged)
    .filter(({ name }) => !known.has(name))
    .map(({ name, owner, place }) => ({
      severity: 'error',
      code: 'path-taken',
      address,
      path: `devices.${name}.path`,
      message: `${address} would have two disks at ${place}: ${shown(owner, layers)} and ${shown(name, layers)}`,
      remedy: `change the path of one of them, or hide one: devices: {${name}: {type: none}} in ${address}`,
      ...document.location,
    }));
}

function shown(device: string, layers: readonly DeviceLayer[]): string {
  const profile = layers.findLast(({ sure }) => Object.hasOwn(sure, device))?.profile;
  return profile === undefined ? `its own device ${device}` : `the device ${device} of its profile ${profile}`;
}
