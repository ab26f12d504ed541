// Nics made of a veth pair: bridged (host end joins a bridge) and p2p (host end stands alone).
import { createHash } from 'node:crypto';
import { DriverError } from '../driver-error.ts';
import type { DeviceContext, DeviceRun, DeviceType } from './device.ts';

export const nicDevice: DeviceType = {
  start(context: DeviceContext): Promise<DeviceRun> {
    const { nictype, parent, mtu } = context.properties;
    if (nictype !== 'bridged' && nictype !== 'p2p') {
      throw new DriverError(
        'NotSupported',
        `nic ${context.device}: nictype ${nictype ?? '(none)'} is not available in this release`,
      );
    }
    const hwaddr = context.properties['hwaddr'] ?? context.volatile['hwaddr'];
    if (hwaddr === undefined) throw new DriverError('Failed', `nic ${context.device} has no hardware address`);
    const name = context.properties['name'] ?? context.volatile['name'] ?? freeName(context.takenNames);
    const hostName = context.properties['host_name'] ?? hostNameOf(context.containerUuid, context.device);
    return Promise.resolve({
      mounts: [],
      nics: [
        {
          device: context.device,
          kind: 'veth',
          name,
          hostName,
          hwaddr,
          ...(nictype === 'bridged' && parent !== undefined ? { link: parent } : {}),
          ...(mtu === undefined ? {} : { mtu: Number(mtu) }),
        },
      ],
      volatile: {
        host_name: hostName,
        ...(context.properties['name'] === undefined ? { name } : {}),
      },
    });
  },
};

/** The same at every start, so that nothing has to be remembered to find the interface after a crash. */
export function hostNameOf(containerUuid: string, device: string): string {
  return `veth${createHash('sha256').update(`${containerUuid}/${device}`).digest('hex').slice(0, 8)}`;
}

function freeName(taken: ReadonlySet<string>): string {
  for (let index = 0; ; index += 1) if (!taken.has(`eth${index}`)) return `eth${index}`;
}
