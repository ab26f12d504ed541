// Addresses as text, and the choice of free subnets: pure laws.
import { isIPv4, isIPv6 } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cidrsOverlap,
  containsIp,
  eui64Address,
  firstOf,
  formatCidr,
  formatIp,
  isHostAddress,
  lastOf,
  parseCidr,
  parseIp,
  parseIpRange,
} from '../../../../server/api/text/ip.ts';
import type { Cidr } from '../../../../server/api/text/ip.ts';
import { planNetwork } from '../../../../server/drivers/network/config.ts';
import { leaseRanges } from '../../../../server/drivers/network/ranges.ts';
import { pickSubnet, takenSubnets } from '../../../../server/drivers/network/subnets.ts';

const ip4 = fc.ipV4();
const ip6 = fc.ipV6();
const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 65535 }));
const sparseIp6 = fc
  .array(group, { minLength: 8, maxLength: 8 })
  .map((groups) => groups.map((each) => each.toString(16)).join(':'));
const cidrOf = (text: string): Cidr => {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new Error(`no CIDR: ${text}`);
  return cidr;
};
const anyCidr = fc.oneof(
  fc.tuple(ip4, fc.integer({ min: 0, max: 32 })),
  fc.tuple(sparseIp6, fc.integer({ min: 0, max: 128 })),
);

describe('addresses', () => {
  test('the check of addresses agrees with the runtime, for likely and unlikely texts', () => {
    const almost = fc.string({
      unit: fc.constantFrom('0', '1', '25', '255', '256', 'f', ':', '::', '.', '/', ' ', '-'),
      maxLength: 14,
    });
    fc.assert(
      fc.property(fc.oneof(ip4, ip6, sparseIp6, almost), (text) => {
        const family = parseIp(text)?.family;
        expect(family).toBe(isIPv4(text) ? 4 : isIPv6(text) ? 6 : undefined);
      }),
      { numRuns: 5000 },
    );
  });

  test('formatting and parsing are each other’s inverse, and the text is the canonical one', () => {
    fc.assert(
      fc.property(fc.oneof(ip4, ip6, sparseIp6), (text) => {
        const ip = parseIp(text);
        if (ip === undefined) throw new Error(text);
        expect(parseIp(formatIp(ip))).toEqual(ip);
        if (ip.family === 6 && !formatIp(ip).includes('.')) {
          // The URL standard serialises hosts by the same rules.
          expect(`[${formatIp(ip)}]`).toBe(new URL(`http://[${text}]/`).hostname);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a subnet holds its first and last address and overlaps itself and what it holds', () => {
    fc.assert(
      fc.property(anyCidr, anyCidr, ([a, pa], [b, pb]) => {
        const one = cidrOf(`${a}/${pa}`);
        const two = cidrOf(`${b}/${pb}`);
        expect(containsIp(one, firstOf(one)) && containsIp(one, lastOf(one)) && containsIp(one, one.ip)).toBe(true);
        expect(cidrsOverlap(one, one)).toBe(true);
        expect(cidrsOverlap(one, two)).toBe(cidrsOverlap(two, one));
        if (containsIp(one, two.ip)) expect(cidrsOverlap(one, two)).toBe(true);
        expect(parseCidr(formatCidr(one))).toEqual(one);
      }),
    );
  });

  test.each([
    '1.2.3',
    '01.2.3.4',
    '1.2.3.4/',
    '1.2.3.4/33',
    '1.2.3.4/024',
    'fe80::1%eth0',
    ':::',
    '1::2::3',
    '',
    '::1/129',
    '1.2.3.4/24/1',
  ])('%j is refused', (text) => {
    expect(parseCidr(text)).toBeUndefined();
    if (!text.includes('/')) expect(parseIp(text)).toBeUndefined();
  });

  test('host addresses, ranges and self-made addresses', () => {
    expect(['10.0.0.0/24', '10.0.0.255/24', 'fd42::/64'].map((text) => isHostAddress(cidrOf(text)))).toEqual([
      false,
      false,
      false,
    ]);
    expect(
      ['10.0.0.1/24', '10.0.0.0/31', 'fd42::1/64', 'fd42::ff/120'].map((text) => isHostAddress(cidrOf(text))),
    ).toEqual([true, true, true, true]);
    expect(parseIpRange('10.0.0.9-10.0.0.2')).toBeUndefined();
    expect(parseIpRange('10.0.0.2-fd42::1')).toBeUndefined();
    expect(formatIp(eui64Address(cidrOf('fd42::1/64'), '00:16:3e:01:02:03'))).toBe('fd42::216:3eff:fe01:203');
  });
});

describe('subnets', () => {
  test('a picked subnet is free, whatever is taken, and of the right shape', () => {
    const taken = fc.array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 9, max: 32 })), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(taken, fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })), (blocks, stream) => {
        const texts = blocks.map(([octet, prefix]) => `10.${octet}.7.3/${prefix}`);
        const picked = pickSubnet(4, takenSubnets(texts), () => stream.next().value as number);
        if (picked === undefined) return;
        expect(picked).toMatch(/^10\.\d+\.\d+\.1\/24$/);
        for (const text of texts) expect(cidrsOverlap(cidrOf(text), cidrOf(picked))).toBe(false);
      }),
    );
  });

  test('the last free subnet is found, and none when there is none', () => {
    const taken = Array.from({ length: 255 }, (_, i) => `10.${i}.0.0/16`).filter((text) => text !== '10.77.0.0/16');
    taken.push(
      '10.255.0.0/16',
      '10.77.0.0/17',
      '10.77.128.0/18',
      '10.77.192.0/19',
      '10.77.224.0/20',
      '10.77.240.0/21',
      '10.77.248.0/22',
      '10.77.252.0/23',
    );
    expect(pickSubnet(4, takenSubnets(taken), () => 0)).toBe('10.77.254.1/24');
    expect(pickSubnet(4, takenSubnets([...taken, '10.77.254.0/24']), () => 0)).toBeUndefined();
  });

  test('default routes and words take no room, single addresses do', () => {
    expect(takenSubnets(['default', 'none', '', '0.0.0.0/0', '::/0']).length).toBe(0);
    expect(takenSubnets(['10.0.0.5', '10.0.0.0/8', 'fd42::/64']).map(formatCidr)).toEqual([
      '10.0.0.5/32',
      '10.0.0.0/8',
      'fd42::/64',
    ]);
    expect(pickSubnet(6, [], () => 0.5)).toBe('fd42:8000:8000:8000::1/64');
  });

  test('the ranges of a subnet leave out the base, the broadcast, the bridge and the gateway', () => {
    const rangesOf = (config: Record<string, string>): string[] =>
      planNetwork({ name: 'net0', config }).families.flatMap((family) =>
        leaseRanges(family).map((range) => `${formatIp(range.first)}-${formatIp(range.last)}`),
      );
    expect(rangesOf({ 'ipv4.address': '10.0.0.1/24' })).toEqual(['10.0.0.2-10.0.0.254']);
    expect(rangesOf({ 'ipv4.address': '10.0.0.254/24' })).toEqual(['10.0.0.1-10.0.0.253']);
    expect(rangesOf({ 'ipv4.address': '10.0.0.9/28', 'ipv4.dhcp.gateway': '10.0.0.2' })).toEqual([
      '10.0.0.1-10.0.0.1',
      '10.0.0.3-10.0.0.8',
      '10.0.0.10-10.0.0.14',
    ]);
    expect(rangesOf({ 'ipv6.address': 'fd42::1/120', 'ipv6.dhcp.stateful': 'true' })).toEqual(['fd42::2-fd42::ff']);
    expect(rangesOf({ 'ipv4.address': '10.0.0.1/30' })).toEqual(['10.0.0.2-10.0.0.2']);
  });
});
