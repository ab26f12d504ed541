// Builds the message with which a DHCP client returns its lease (RFC 2131, RFC 8415); pure, sends nothing.
import { parseIp, type Ip } from '../../../api/text/ip.ts';
import type { LeaseLine } from './format.ts';

function octets(ip: Ip): Buffer {
  const length = ip.family === 4 ? 4 : 16;
  return Buffer.from(ip.value.toString(16).padStart(length * 2, '0'), 'hex');
}

function hexOctets(text: string): Buffer {
  return Buffer.from(text.replaceAll(':', ''), 'hex');
}

/** DHCPRELEASE of an IPv4 lease, for port 67. */
export function dhcpRelease(lease: LeaseLine, server: Ip, transaction: number): Buffer {
  const client = parseIp(lease.address);
  if (client === undefined) throw new Error(`lease of ${lease.address} is no address`);
  const head = Buffer.alloc(240);
  head.set([1, 1, 6, 0]); // request, Ethernet, six octets
  head.writeUInt32BE(transaction >>> 0, 4);
  octets(client).copy(head, 12);
  hexOctets(lease.hwaddr).copy(head, 28);
  head.writeUInt32BE(0x63825363, 236); // magic cookie
  const option = (code: number, data: Buffer): Buffer => Buffer.concat([Buffer.from([code, data.length]), data]);
  const options = [option(53, Buffer.from([7])), option(54, octets(server))];
  if (lease.clientId !== '') options.push(option(61, hexOctets(lease.clientId)));
  return Buffer.concat([head, ...options, Buffer.from([255])]);
}

/** Release of a DHCPv6 lease, for port 547. */
export function dhcp6Release(lease: LeaseLine, serverId: string, transaction: number): Buffer {
  const client = parseIp(lease.address);
  if (client === undefined) throw new Error(`lease of ${lease.address} is no address`);
  const option = (code: number, data: Buffer): Buffer => {
    const head = Buffer.alloc(4);
    head.writeUInt16BE(code, 0);
    head.writeUInt16BE(data.length, 2);
    return Buffer.concat([head, data]);
  };
  const head = Buffer.alloc(4);
  head.writeUInt32BE(transaction & 0xffffff);
  head[0] = 8; // release
  const association = Buffer.alloc(12);
  association.writeUInt32BE(lease.iaid >>> 0);
  const address = option(5, Buffer.concat([octets(client), Buffer.alloc(8)]));
  return Buffer.concat([
    head,
    option(1, hexOctets(lease.clientId)),
    option(2, hexOctets(serverId)),
    option(8, Buffer.alloc(2)), // elapsed time
    option(3, Buffer.concat([association, address])),
  ]);
}
