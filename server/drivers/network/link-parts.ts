// The parts of the state of an interface that only bridges, bonds and VLANs have.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../lib/shared/attempt.ts';
import type { NetworkState } from './driver.ts';
import type { Link } from './ip-commands.ts';

/** `sysfs`: where the kernel lists interfaces. */
export function linkParts(link: Link, sysfs = '/sys/class/net'): Pick<NetworkState, 'bridge' | 'bond' | 'vlan'> {
  const folder = join(sysfs, link.name);
  // A kernel built without a feature lacks its file.
  const read = (file: string): string => attempt(() => readFileSync(join(folder, file), 'utf8').trim(), '');
  const word = (file: string): string => read(file).split(' ')[0] ?? '';
  const number = (file: string): number => Number(read(file));
  if (existsSync(join(folder, 'bridge')))
    return {
      bridge: {
        id: read('bridge/bridge_id'),
        stp: number('bridge/stp_state') > 0,
        forward_delay: number('bridge/forward_delay'),
        vlan_default: number('bridge/default_pvid'),
        vlan_filtering: number('bridge/vlan_filtering') > 0,
        upper_devices: attempt(() => readdirSync(join(folder, 'brif')), []),
      },
    };
  if (existsSync(join(folder, 'bonding')))
    return {
      bond: {
        mode: word('bonding/mode'),
        transmit_policy: word('bonding/xmit_hash_policy'),
        up_delay: number('bonding/updelay'),
        down_delay: number('bonding/downdelay'),
        mii_frequency: number('bonding/miimon'),
        mii_state: read('bonding/mii_status'),
        lower_devices: read('bonding/slaves')
          .split(' ')
          .filter((name) => name !== ''),
      },
    };
  return link.vlan === undefined ? {} : { vlan: link.vlan };
}

/** A bridge as the kernel makes it, without members. */
export const newBridge = (hwaddr: string): NonNullable<NetworkState['bridge']> => ({
  id: `8000.${hwaddr.replaceAll(':', '')}`,
  stp: false,
  forward_delay: 1500,
  vlan_default: 0,
  vlan_filtering: false,
  upper_devices: [],
});
