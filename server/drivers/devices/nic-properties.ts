// Reads the properties of a nic: '' as unset, its parent on the host, its address.
import { existsSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { NicRun } from '../device-parts.ts';
import { driverErrors } from '../driver-error.ts';
import type { DeviceContext } from './device.ts';
import { interfaceDir } from './host-paths.ts';
import { attempt } from '../../lib/shared/attempt.ts';

/** The property, with '' as unset. */
export const set = (properties: ConfigMap, name: string): string | undefined =>
  properties[name] === '' ? undefined : properties[name];

export function needAddress({ device, properties, volatile }: DeviceContext): string {
  const hwaddr = set(properties, 'hwaddr') ?? set(volatile, 'hwaddr');
  if (hwaddr === undefined) throw driverErrors.failed(`nic ${device} has no hardware address`);
  return hwaddr.toLowerCase();
}

export function needParent({ device, properties }: DeviceContext): string {
  const parent = set(properties, 'parent');
  if (parent === undefined) throw driverErrors.invalid(`nic ${device} has no parent`);
  return parent;
}

const masterOf = (dir: string): string | undefined => attempt(() => basename(readlinkSync(join(dir, 'master'))));

/** The host interface to use, and its creation if it belongs to a VLAN. */
export function vlanOf(context: DeviceContext): { readonly name: string; readonly vlan: Pick<NicRun, 'vlan'> } {
  const parent = needParent(context);
  const id = set(context.properties, 'vlan');
  if (!existsSync(interfaceDir(context.host, parent))) {
    throw driverErrors.notFound(`nic ${context.device}: the parent ${parent} does not exist on the host`);
  }
  if (id === undefined) {
    const owner = masterOf(interfaceDir(context.host, parent));
    // The kernel gives a port of a bridge or bond to no other user.
    if (owner !== undefined) {
      const why = `the parent ${parent} belongs to ${owner} on the host: take it out of ${owner}, or use nictype bridged with parent ${owner}`;
      throw driverErrors.inUse(`nic ${context.device}: ${why}`);
    }
    return { name: parent, vlan: {} };
  }
  return { name: `${parent}.${id}`, vlan: { vlan: { parent, id: Number(id) } } };
}
