// Reads a validated network config into typed intent; pure, and the only place of the driver with the defaults.
import { formatIp, parseCidr, parseIp, parseIpRange } from '../../api/text/ip.ts';
import type { Cidr, IpFamily, IpRange } from '../../api/text/ip.ts';
import { networkBool, splitList } from '../../api/network/network-values.ts';
import { tunnelNames, validateNetworkConfig } from '../../api/network/validate-network-config.ts';
import { driverErrors } from '../driver-error.ts';
import type { AclDefault, AclPlan } from './acl-rules.ts';
import type { NetworkSpec } from './driver.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export { validateNetworkConfig } from '../../api/network/validate-network-config.ts';

export type DnsMode = 'managed' | 'dynamic' | 'none';

export interface FamilyPlan {
  readonly family: IpFamily;
  readonly address: Cidr;
  readonly dhcp: boolean;
  /** IPv6 only: addresses come from DHCP instead of the clients themselves. */
  readonly stateful: boolean;
  readonly expiry: string;
  readonly ranges: readonly IpRange[];
  /** IPv4 only: a gateway other than the bridge. */
  readonly gateway?: string;
  readonly firewall: boolean;
  readonly nat: boolean;
  /** Source address of outgoing traffic; absent: that of the interface. */
  readonly natAddress?: string;
  readonly natOrder: 'before' | 'after';
  readonly routing: boolean;
}

export interface TunnelPlan {
  /** Name of the host interface. */
  readonly link: string;
  readonly protocol: 'gre' | 'vxlan';
  readonly local: string;
  readonly remote: string;
  readonly group: string;
  readonly id: string;
  readonly port: string;
  readonly ttl: string;
  /** Empty: the interface of the default route. */
  readonly interface: string;
}

export interface NetworkPlan {
  readonly name: string;
  readonly driver: 'native' | 'openvswitch';
  readonly mtu: number;
  /** Empty: the driver picks a stable one. */
  readonly hwaddr: string;
  readonly families: readonly FamilyPlan[];
  readonly routes: readonly Cidr[];
  readonly dnsDomain: string;
  /** Domains in which clients search for short names, sent by DHCP and router announcements. */
  readonly dnsSearch: readonly string[];
  readonly dnsMode: DnsMode;
  readonly rawDnsmasq: string;
  readonly external: readonly string[];
  readonly tunnels: readonly TunnelPlan[];
  /** Absent: no filter. */
  readonly acls?: AclPlan;
}

/** Throws DriverError Invalid naming every problem, NotSupported for features that no driver here has. */
export function planNetwork(spec: NetworkSpec): NetworkPlan {
  const { name } = spec;
  const config = Object.fromEntries(Object.entries(spec.config).filter(([, value]) => value !== ''));
  refuse(spec.name, config);
  const tunnels = tunnelNames(config).map((tunnel) => planTunnel(name, tunnel, config));
  return {
    name,
    driver: config['bridge.driver'] === 'openvswitch' ? 'openvswitch' : 'native',
    mtu: Number(config['bridge.mtu'] ?? (tunnels.length > 0 ? 1400 : 1500)),
    hwaddr: (config['bridge.hwaddr'] ?? '').toLowerCase(),
    families: ([4, 6] as const).flatMap((family) => planFamily(family, config)),
    routes: [...cidrs(config['ipv4.routes']), ...cidrs(config['ipv6.routes'])],
    dnsDomain: config['dns.domain'] ?? 'gantry',
    dnsSearch: splitList(config['dns.search']),
    dnsMode: (config['dns.mode'] ?? 'managed') as DnsMode,
    rawDnsmasq: config['raw.dnsmasq'] ?? '',
    external: [...new Set(splitList(config['bridge.external_interfaces']))],
    tunnels,
    ...planAcls(spec, config),
  };
}

export function familyOf(plan: NetworkPlan, family: IpFamily): FamilyPlan | undefined {
  return plan.families.find((entry) => entry.family === family);
}

function refuse(name: string, config: Readonly<Record<string, string>>): void {
  const problems = validateNetworkConfig(name, config).map((problem) => problem.message);
  for (const key of ['ipv4.address', 'ipv6.address']) {
    if (config[key] === 'auto') problems.push(`${key}: auto was not resolved to an address`);
  }
  if (problems.length > 0) throw driverErrors.invalid(`network ${name}: ${problems.join('; ')}`);
  if (config['bridge.mode'] === 'fan') {
    throw driverErrors.notSupported(
      `network ${name}: bridge.mode fan is not supported: it needs kernels with Ubuntu's fan-map; use standard with a vxlan tunnel`,
    );
  }
}

function planFamily(family: IpFamily, config: Readonly<Record<string, string>>): FamilyPlan[] {
  const v = `ipv${family}`;
  const address = parseCidr(config[`${v}.address`] ?? '');
  if (address === undefined) return [];
  const gateway = family === 4 ? config['ipv4.dhcp.gateway'] : undefined;
  const natAddress = parseIp(config[`${v}.nat.address`] ?? '');
  return [
    {
      family,
      address,
      dhcp: networkBool(config[`${v}.dhcp`], true),
      stateful: family === 6 && networkBool(config['ipv6.dhcp.stateful'], false),
      expiry: config[`${v}.dhcp.expiry`] ?? '1h',
      ranges: splitList(config[`${v}.dhcp.ranges`]).flatMap((text) => parseIpRange(text) ?? []),
      ...withoutUndefined({ gateway }),
      firewall: networkBool(config[`${v}.firewall`], true),
      nat: networkBool(config[`${v}.nat`], false),
      ...(natAddress === undefined ? {} : { natAddress: formatIp(natAddress) }),
      natOrder: config[`${v}.nat.order`] === 'after' ? 'after' : 'before',
      routing: networkBool(config[`${v}.routing`], true),
    },
  ];
}

function planAcls({ acls = [] }: NetworkSpec, config: NetworkSpec['config']): Pick<NetworkPlan, 'acls'> {
  if (splitList(config['security.acls']).length === 0) return {};
  return { acls: { acls, defaults: { ingress: aclDefault(config, 'ingress'), egress: aclDefault(config, 'egress') } } };
}

function aclDefault(config: NetworkSpec['config'], direction: string): AclDefault {
  const action = config[`security.acls.default.${direction}.action`] ?? 'reject';
  return {
    action: action as AclDefault['action'],
    logged: networkBool(config[`security.acls.default.${direction}.logged`], false),
  };
}

function cidrs(value: string | undefined): Cidr[] {
  return splitList(value).flatMap((text) => parseCidr(text) ?? []);
}

function planTunnel(name: string, tunnel: string, config: Readonly<Record<string, string>>): TunnelPlan {
  const value = (option: string, otherwise = ''): string => config[`tunnel.${tunnel}.${option}`] ?? otherwise;
  return {
    link: `${name}-${tunnel}`,
    protocol: value('protocol') === 'gre' ? 'gre' : 'vxlan',
    local: value('local'),
    remote: value('remote'),
    group: value('group', '239.0.0.1'),
    id: value('id', '1'),
    port: value('port', '0'),
    ttl: value('ttl', '1'),
    interface: value('interface'),
  };
}
