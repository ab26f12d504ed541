// The pure half of network ACLs: what they may say, and the rules that the kernel gets.
import { describe, expect, test } from 'vitest';
import { networkAclName } from '../../../../server/api/names.ts';
import type { NetworkAclRule } from '../../../../server/api/network/network-acl.ts';
import { validateNetworkAcl } from '../../../../server/api/network/validate-network-acl.ts';
import { planNetwork } from '../../../../server/drivers/network/config.ts';
import { renderFirewall } from '../../../../server/drivers/network/firewall.ts';
import { expectGolden } from '../../../support/golden.ts';

const rule = (more: Partial<NetworkAclRule>): NetworkAclRule => ({ action: 'allow', state: 'enabled', ...more });
const problemsOf = (more: object): readonly string[] =>
  validateNetworkAcl({ config: {}, egress: [], ingress: [rule(more)] }).map(
    ({ path, message }) => `${path} ${message}`,
  );

describe('the check of an ACL', () => {
  test.each<[Partial<NetworkAclRule>, string]>([
    [{ action: 'accept' }, 'ingress.0.action must be one of drop, reject, allow, is "accept"'],
    [{ state: '' }, 'ingress.0.state must be one of enabled, disabled, logged, is ""'],
    [{ protocol: 'sctp' }, 'ingress.0.protocol must be one of icmp4, icmp6, tcp, udp, is "sctp"'],
    [{ source: 'web' }, 'ingress.0.source "web" is a name, which only OVN networks know'],
    [{ source: '@internal' }, 'ingress.0.source "@internal" is a name, which only OVN networks know'],
    [{ source: '10.0.0.1,,10.0.0.2' }, 'ingress.0.source "" must be an address, a subnet'],
    [{ source: '10.0.0.300' }, 'ingress.0.source "10.0.0.300" must be an address, a subnet'],
    [{ destination: '10.0.0.9-10.0.0.3' }, 'ingress.0.destination "10.0.0.9-10.0.0.3" must be an address'],
    [{ source: '10.0.0.1', destination: 'fd42::1' }, 'ingress.0.destination must have addresses of the same families'],
    [
      { protocol: 'icmp4', source: 'fd42::1' },
      'ingress.0.source must have IPv4 addresses only, since protocol is icmp4',
    ],
    [{ destination_port: '80' }, 'ingress.0.destination_port needs protocol to be tcp or udp'],
    [{ protocol: 'icmp4', source_port: '80' }, 'ingress.0.source_port needs protocol to be tcp or udp'],
    [
      { protocol: 'tcp', destination_port: '80-70' },
      'ingress.0.destination_port "80-70" must be a port from 0 to 65535',
    ],
    [{ protocol: 'tcp', destination_port: '65536' }, 'ingress.0.destination_port "65536" must be a port'],
    [{ protocol: 'tcp', destination_port: '80 } accept' }, 'ingress.0.destination_port "80 } accept" must be a port'],
    [{ protocol: 'tcp', icmp_type: '8' }, 'ingress.0.icmp_type needs protocol to be icmp4 or icmp6'],
    [{ icmp_code: '1' }, 'ingress.0.icmp_code needs protocol to be icmp4 or icmp6'],
    [{ protocol: 'icmp6', icmp_type: '256' }, 'ingress.0.icmp_type must be a number from 0 to 255'],
  ])('%j is refused: %s', (more, text) => {
    expect(problemsOf(more).join('\n')).toContain(text);
  });

  test.each<Partial<NetworkAclRule>>([
    { source: '10.0.0.1, 10.1.0.0/16,10.2.0.1-10.2.0.9', destination: '0.0.0.0/0' },
    {
      source: '10.0.0.1,fd42::1',
      destination: 'fd42::/64,10.0.0.0/8',
      protocol: 'tcp',
      destination_port: '80,443,8000-8010',
    },
    { protocol: 'icmp6', icmp_type: '128', icmp_code: '0', description: '"; drop' },
  ])('%j is valid', (more) => {
    expect(problemsOf(more)).toEqual([]);
  });

  test('a rule that is there already, spaces apart, and unknown keys are refused', () => {
    const acl = { config: { x: '1' }, ingress: [], egress: [rule({}), rule({ action: ' allow ' })] };
    expect(validateNetworkAcl(acl).map(({ path }) => path)).toEqual(['config.x', 'egress.1']);
  });

  test.each(['', '1a', '-a', 'a-', 'a_b', 'a"b', `a${'b'.repeat(63)}`])('%j is no name of an ACL', (name) => {
    expect(networkAclName(name)).toMatch(/^must be/);
  });
});

describe('the rules of a network with ACLs', () => {
  const acls = [
    {
      name: 'web',
      ingress: [
        rule({ protocol: 'tcp', destination_port: '80, 443', source: '10.88.1.0/24,10.1.2.3-10.1.2.9' }),
        rule({ action: 'drop', state: 'logged', protocol: 'icmp4', icmp_type: '8' }),
        rule({ action: 'reject', source: 'fd42::/16', protocol: 'udp', source_port: '10-20' }),
        rule({ source: '10.0.0.1,fd42::1', destination: 'fd42::/16,1.2.3.0/24', protocol: 'tcp' }),
      ],
      egress: [
        rule({ action: 'reject', destination: '1.1.1.1' }),
        rule({ action: 'drop', state: 'disabled' }),
        rule({}),
      ],
    },
    { name: 'db', ingress: [rule({ action: 'drop', protocol: 'icmp6' })], egress: [] },
  ];
  const render = (config: object): string => {
    const base = { 'ipv4.address': 'none', 'ipv6.address': 'none', 'security.acls': 'web, db' };
    return renderFirewall(planNetwork({ name: 'lan0', config: { ...base, ...config }, acls }));
  };

  test('drop comes before reject, reject before allow, the defaults last, whatever the order of ACLs and rules', () => {
    expectGolden('network/acls.txt', render({}));
  });

  test('the defaults are those of the network, and may be logged', () => {
    const text = render({
      'security.acls.default.egress.action': 'allow',
      'security.acls.default.ingress.action': 'drop',
      'security.acls.default.ingress.logged': 'true',
      'security.acls.default.egress.logged': 'true',
    });
    expect(text).toContain('oifname "lan0" log prefix "lan0-default-ingress " drop\n');
    expect(text).toContain('iifname "lan0" log prefix "lan0-default-egress " accept\n');
  });

  test('ports are written without leading zeros, which would make them octal', () => {
    const one = [{ name: 'web', ingress: [rule({ protocol: 'tcp', destination_port: '010, 080-0090' })], egress: [] }];
    const config = { 'ipv4.address': 'none', 'ipv6.address': 'none', 'security.acls': 'web' };
    expect(renderFirewall(planNetwork({ name: 'lan0', config, acls: one }))).toContain(
      'tcp dport { 10, 80-90 } accept',
    );
  });

  test('a network that names no ACL has no rules of ACLs', () => {
    expect(render({ 'security.acls': '' })).not.toContain('acl');
  });
});
