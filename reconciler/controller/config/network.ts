// Reads an address or a network such as 10.0.0.0/8. Pure.
import { BlockList, isIP } from 'node:net';

/** Addresses or networks such as 10.0.0.0/8; undefined for a text that is neither. */
export function networkOf(text: string): BlockList | undefined {
  const [, address = '', bits] = /^([0-9a-fA-F:.]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || Number(bits ?? 0) > (version === 6 ? 128 : 32)) return undefined;
  const list = new BlockList();
  if (bits === undefined) list.addAddress(address, familyOf(address));
  else list.addSubnet(address, Number(bits), familyOf(address));
  return list;
}

export const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
