// Withdraws leases from a running dnsmasq by sending it the message that their client would send.
import { createSocket, type SocketType } from 'node:dgram';
import { formatIp, lastOf } from '../../../api/text/ip.ts';
import { familyOf, type NetworkPlan } from '../config.ts';
import { dhcp6Release, dhcpRelease } from './dhcp-release.ts';
import type { LeaseFile, LeaseLine } from './format.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

/** Sends one release per lease; the lease file shows whether dnsmasq accepted it. */
export async function sendReleases(plan: NetworkPlan, file: LeaseFile, leases: readonly LeaseLine[]): Promise<void> {
  for (const lease of leases) {
    const transaction = Math.floor(Math.random() * 0x1000000);
    if (lease.family === 4) await sendRelease4(plan, lease, transaction);
    else await sendRelease6(plan, file, lease, transaction);
  }
}

/** Sent to the subnet's broadcast address: a copy of a local broadcast arrives on the bridge, where dnsmasq listens. A message to the
 *  server's address would arrive on lo and be ignored. */
async function sendRelease4(plan: NetworkPlan, lease: LeaseLine, transaction: number): Promise<void> {
  const family = familyOf(plan, 4);
  if (family === undefined) return;
  const message = dhcpRelease(lease, family.address.ip, transaction);
  await send('udp4', formatIp(family.address.ip), message, 67, formatIp(lastOf(family.address)));
}

/** Sent to all DHCP servers of the link, including the local one. */
async function sendRelease6(plan: NetworkPlan, file: LeaseFile, lease: LeaseLine, transaction: number): Promise<void> {
  if (file.serverId === undefined) return;
  await send('udp6', undefined, dhcp6Release(lease, file.serverId, transaction), 547, `ff02::1:2%${plan.name}`);
}

async function send(
  type: SocketType,
  from: string | undefined,
  message: Buffer,
  port: number,
  to: string,
): Promise<void> {
  const socket = createSocket(type);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ port: 0, ...withoutUndefined({ address: from }) }, () => {
        if (type === 'udp4') socket.setBroadcast(true);
        socket.send(message, port, to, (error) => (error === null ? resolve() : reject(error)));
      });
    });
  } finally {
    socket.close();
  }
}
