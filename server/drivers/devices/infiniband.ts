// InfiniBand interfaces of the host in containers: the network interface, and the nodes of its card for direct access.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { driverErrors } from '../driver-error.ts';
import type { NodeRun } from '../device-parts.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler } from './device.ts';
import { type HostPaths, interfaceDir, list, readText } from './host-paths.ts';
import { nodeRun, set } from './nodes.ts';
import { chooseVirtualFunction } from './sriov.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** ARP hardware type of IP over InfiniBand. */
const infinibandType = '32';

export const infinibandDevice: DeviceHandler = {
  start: async (context: DeviceContext): Promise<DeviceRun> => {
    const { device, properties, host } = context;
    const { nictype } = properties;
    const parent = set(properties['parent']) ?? '';
    if (!existsSync(interfaceDir(host, parent))) {
      throw driverErrors.notFound(`infiniband ${device}: the parent ${parent} does not exist on the host`);
    }
    if (readText(join(interfaceDir(host, parent), 'type')) !== infinibandType) {
      throw driverErrors.invalid(`infiniband ${device}: the parent ${parent} is no InfiniBand interface`);
    }
    const hostName =
      nictype === 'sriov' ? chooseVirtualFunction(host, parent, `infiniband ${device}`, undefined).name : parent;
    const mtu = set(properties['mtu']);
    const hwaddr = set(properties['hwaddr']);
    return {
      ...nothing,
      nics: [
        {
          device,
          kind: 'physical',
          name: set(properties['name']) ?? hostName,
          hostName,
          ...(mtu === undefined ? {} : { mtu: Number(mtu) }),
          ...withoutUndefined({ hwaddr }),
        },
      ],
      nodes: cardNodes(device, host, hostName),
    };
  },
};

/** Nodes of the card below the interface: the verbs device and its management ports. */
function cardNodes(device: string, host: HostPaths, name: string): readonly NodeRun[] {
  const card = join(interfaceDir(host, name), 'device');
  const [ibdev] = list(join(card, 'infiniband'));
  if (ibdev === undefined) return [];
  return ['infiniband_verbs', 'infiniband_mad'].flatMap((kind) =>
    list(join(card, kind)).flatMap((node) => {
      const [major, minor] = readText(join(card, kind, node, 'dev'))
        .split(':')
        .map(Number);
      if (major === undefined || minor === undefined) return [];
      return [nodeRun(device, { mode: '0666' }, `/dev/infiniband/${node}`, { kind: 'char', major, minor })];
    }),
  );
}
