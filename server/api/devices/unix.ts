// Device types unix-char and unix-block: device nodes of the host.
import type { Problem } from '../problem.ts';
import * as is from '../text/value-checks.ts';
import { isSet, live, nodeOwner, problem, typeAccess, type DeviceConfig, type DeviceSchema } from './device-schema.ts';

const unix = (doc: string): DeviceSchema => ({
  doc,
  hotplug: true,
  adjustable: /^(uid|gid|mode|required)$/,
  hostAccess: typeAccess,
  properties: {
    source: live(is.absolutePath, 'Node on the host. Unset: the same as path.'),
    path: live(is.absolutePath, 'Node in the container. Unset: the same as source.'),
    major: live(is.integer(0, 4095), 'Major number. Unset: that of the node on the host.'),
    minor: live(is.integer(0, 1048575), 'Minor number. Unset: that of the node on the host.'),
    ...nodeOwner,
    required: live(is.bool, 'Refuse to start without it; false: plug it in once it appears.', { default: 'true' }),
  },
  rules: unixRules,
});

export const unixChar = unix('A character device of the host.');
export const unixBlock = unix('A block device of the host.');

/** Spec 2.5: one of path and source is set; a missing one equals the other. */
export function unixPaths(device: DeviceConfig): { readonly source: string; readonly path: string } {
  const source = device['source'] ?? '';
  const path = device['path'] ?? '';
  return { source: source === '' ? path : source, path: path === '' ? source : path };
}

function unixRules(device: DeviceConfig): Problem[] {
  if (isSet(device, 'source') || isSet(device, 'path')) return [];
  return [problem('path', 'is required, or source: one of them must be set')];
}
