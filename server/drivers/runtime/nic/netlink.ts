// Parses the kernel's netlink messages and `ip -j` output about links and addresses. Pure.
import type { InterfaceAddress, InterfaceState } from '../../interface-state.ts';

export interface NetLink {
  readonly index: number;
  readonly name: string;
  readonly mtu: number;
  readonly hwaddr: string;
  readonly isUp: boolean;
  readonly type: InterfaceState['type'];
  /** Index of the other end in its own namespace. */
  readonly peerIndex: number | undefined;
  readonly counters: InterfaceState['counters'];
  readonly addresses: readonly InterfaceAddress[];
}

export function toInterfaceStates(
  links: readonly NetLink[],
  hostNameOf: (link: NetLink) => string,
): Readonly<Record<string, InterfaceState>> {
  return Object.fromEntries(
    links.map((link) => [
      link.name,
      {
        addresses: link.addresses,
        counters: link.counters,
        hwaddr: link.type === 'loopback' ? '' : link.hwaddr,
        host_name: link.type === 'loopback' ? '' : hostNameOf(link),
        mtu: link.mtu,
        state: link.isUp ? 'up' : 'down',
        type: link.type,
      },
    ]),
  );
}

const getLink = 18;
const getAddress = 22;
const newLink = 16;
const newAddress = 20;
const done = 3;
const failed = 2;

/** nlmsghdr (16 bytes) with REQUEST|DUMP and an empty body for all families. */
function dumpRequest(type: number): Uint8Array {
  const request = new DataView(new ArrayBuffer(32));
  request.setUint32(0, 32, true);
  request.setUint16(4, type, true);
  request.setUint16(6, 0x301, true);
  request.setUint32(8, 1, true);
  return new Uint8Array(request.buffer);
}

export const netlinkDump = {
  links: dumpRequest(getLink),
  addresses: dumpRequest(getAddress),
  isEnd: (packet: Buffer): boolean => messages(packet).some(({ type }) => type === done || type === failed),
};

interface Message {
  readonly type: number;
  readonly body: Buffer;
}

function messages(packet: Buffer): readonly Message[] {
  const found: Message[] = [];
  for (let at = 0; at + 16 <= packet.length;) {
    const length = packet.readUInt32LE(at);
    if (length < 16 || at + length > packet.length) break;
    found.push({ type: packet.readUInt16LE(at + 4), body: packet.subarray(at + 16, at + length) });
    at += (length + 3) & ~3;
  }
  return found;
}

function attributes(bytes: Buffer): ReadonlyMap<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length;) {
    const length = bytes.readUInt16LE(at);
    if (length < 4 || at + length > bytes.length) break;
    found.set(bytes.readUInt16LE(at + 2) & 0x3fff, bytes.subarray(at + 4, at + length));
    at += (length + 3) & ~3;
  }
  return found;
}

/** Kernel structures are in host order; every machine this runs on is little-endian. */
export function parseNetlink(linkPackets: readonly Buffer[], addressPackets: readonly Buffer[]): readonly NetLink[] {
  const addresses = addressPackets.flatMap(messages).filter(({ type }) => type === newAddress);
  return linkPackets
    .flatMap(messages)
    .filter(({ type }) => type === newLink)
    .map(({ body }) => {
      const index = body.readInt32LE(4);
      const flags = body.readUInt32LE(8);
      const values = attributes(body.subarray(16));
      const stats = values.get(23);
      const stat = (at: number): number => (stats === undefined ? 0 : Number(stats.readBigUInt64LE(at * 8)));
      return {
        index,
        name: values.get(3)?.toString('latin1').replace(/\0.*$/s, '') ?? '',
        mtu: values.get(4)?.readUInt32LE(0) ?? 0,
        hwaddr: formatHwaddr(values.get(1)),
        isUp: (flags & 1) !== 0,
        type: typeOfFlags(flags),
        peerIndex: values.get(5)?.readUInt32LE(0),
        counters: {
          packets_received: stat(0),
          packets_sent: stat(1),
          bytes_received: stat(2),
          bytes_sent: stat(3),
          errors_received: stat(4),
          errors_sent: stat(5),
          packets_dropped_inbound: stat(6),
          packets_dropped_outbound: stat(7),
        },
        addresses: addresses
          .filter((one) => one.body.readUInt32LE(4) === index)
          .flatMap((one) => parseAddress(one.body)),
      };
    });
}

function typeOfFlags(flags: number): InterfaceState['type'] {
  if ((flags & 8) !== 0) return 'loopback';
  if ((flags & 16) !== 0) return 'point-to-point';
  return (flags & 2) === 0 ? 'unknown' : 'broadcast';
}

function parseAddress(body: Buffer): readonly InterfaceAddress[] {
  const family = body.readUInt8(0) === 2 ? 'inet' : 'inet6';
  const values = attributes(body.subarray(8));
  // The local address; on point-to-point links the other attribute is the far end.
  const bytes = values.get(2) ?? values.get(1);
  if (bytes === undefined) return [];
  const address = family === 'inet' ? [...bytes].join('.') : formatIpv6(bytes);
  return [{ family, address, netmask: body.readUInt8(1).toString(), scope: scopeOf(address) }];
}

export function scopeOf(address: string): InterfaceAddress['scope'] {
  if (address.startsWith('127.') || address === '::1') return 'local';
  if (address.startsWith('169.254.') || /^fe[89ab]/i.test(address)) return 'link';
  return 'global';
}

function formatHwaddr(bytes: Buffer | undefined): string {
  return bytes === undefined ? '' : [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

/** RFC 5952: the longest run of zero groups becomes "::". */
export function formatIpv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0));
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (at + length < 8 && groups[at + length] === 0) length++;
    if (length > best.length) best = { at, length };
  }
  const text = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (best.at < 0) return text(groups);
  return `${text(groups.slice(0, best.at))}::${text(groups.slice(best.at + best.length))}`;
}

interface IpStats {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

interface IpLink {
  readonly ifindex: number;
  readonly ifname: string;
  readonly mtu: number;
  readonly address?: string;
  readonly flags: readonly string[];
  readonly link_index?: number;
  readonly stats64?: {
    readonly rx: IpStats;
    readonly tx: IpStats;
  };
  readonly addr_info: readonly { readonly family: string; readonly local: string; readonly prefixlen: number }[];
}

/** Output of `ip -j -s addr`. */
export function parseIpJson(text: string): readonly NetLink[] {
  return (JSON.parse(text) as readonly IpLink[]).map((link) => ({
    index: link.ifindex,
    name: link.ifname,
    mtu: link.mtu,
    hwaddr: link.address ?? '',
    isUp: link.flags.includes('UP'),
    type: link.flags.includes('LOOPBACK')
      ? 'loopback'
      : link.flags.includes('POINTOPOINT')
        ? 'point-to-point'
        : link.flags.includes('BROADCAST')
          ? 'broadcast'
          : 'unknown',
    peerIndex: link.link_index,
    counters: {
      bytes_received: link.stats64?.rx.bytes ?? 0,
      bytes_sent: link.stats64?.tx.bytes ?? 0,
      packets_received: link.stats64?.rx.packets ?? 0,
      packets_sent: link.stats64?.tx.packets ?? 0,
      errors_received: link.stats64?.rx.errors ?? 0,
      errors_sent: link.stats64?.tx.errors ?? 0,
      packets_dropped_inbound: link.stats64?.rx.dropped ?? 0,
      packets_dropped_outbound: link.stats64?.tx.dropped ?? 0,
    },
    addresses: link.addr_info.map((one) => ({
      family: one.family === 'inet' ? 'inet' : 'inet6',
      address: one.local,
      netmask: one.prefixlen.toString(),
      scope: scopeOf(one.local),
    })),
  }));
}
