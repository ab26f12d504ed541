// Finds access to the host that an untrusted backup would give its container. Pure.
import { isTrue } from '../../../api/container/container-config.ts';
import { errors } from '../../../api/errors.ts';
import { hostAccess } from '../../../api/devices/index.ts';
import type { SavedMachine, SavedParts } from './index-yaml.ts';

/** Keys whose value true weakens a container's isolation. */
const loosening = ['security.privileged', 'security.nesting', 'security.devlxd.images'];
/** Keys that weaken it by any value: they configure the host's programs, or act on its kernel. */
const powerful = /^(?:raw\..+|linux\.kernel_modules|security\.syscalls\..+)$/;

/** Short texts such as `device data: the path / of the host`; empty if it is isolated. No values of keys. */
export function hostAccessOf({ container, snapshots }: SavedParts): readonly string[] {
  const found = [
    ...accessOf(container),
    ...snapshots.flatMap((snapshot) => accessOf(snapshot).map((what) => `${what} (in the snapshot ${snapshot.name})`)),
  ];
  return [...new Set(found)];
}

function accessOf({ config, devices }: SavedMachine): readonly string[] {
  const keys = Object.entries(config).filter(
    ([key, value]) => (loosening.includes(key) && isTrue(value)) || (powerful.test(key) && value !== ''),
  );
  return [
    ...keys.map(([key]) => `the key ${key}`),
    ...Object.entries(devices).flatMap(([name, device]) => {
      const what = hostAccess(device);
      return what === undefined ? [] : [`the device ${name}: ${what}`];
    }),
  ];
}

/** Throws AppError badRequest unless access is allowed. */
export function checkHostAccess(parts: SavedParts, isAllowed: boolean): void {
  const found = isAllowed ? [] : hostAccessOf(parts);
  if (found.length === 0) return;
  const shown = found.slice(0, 20).join('; ');
  const more = found.length > 20 ? `; and ${found.length - 20} more` : '';
  throw errors.badRequest(
    `The backup brings access to the host: ${shown}${more}. If you trust where it comes from, set ` +
      'backups.allow_host_access of the server to true while you import it, or import it with gantry and --allow-host-access',
  );
}
