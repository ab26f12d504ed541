// Writes and parses dnsmasq's formats: its command line, its host lines and its lease file; pure, starts nothing.
import { containsIp, formatIp, isHwaddr, parseIp, type IpFamily } from '../../../api/text/ip.ts';
import { driverErrors } from '../../driver-error.ts';
import { familyOf, type DnsMode, type FamilyPlan, type NetworkPlan } from '../config.ts';
import type { NetworkHost } from '../driver.ts';
import { leaseRanges, rangeText } from '../ranges.ts';

export interface DnsmasqPlaces {
  readonly pidFile: string;
  readonly leaseFile: string;
  readonly hostsFile: string;
  readonly logFile: string;
  /** Contains raw.dnsmasq; /dev/null if that is unset. */
  readonly confFile: string;
}

/** Only arguments (no program name). Equal plans give equal arguments, which shows whether a running dnsmasq fits. */
export function dnsmasqArguments(plan: NetworkPlan, places: DnsmasqPlaces): string[] {
  const out = [
    '--strict-order',
    '--bind-interfaces',
    '--except-interface=lo',
    `--interface=${plan.name}`,
    ...plan.families.map((family) => `--listen-address=${formatIp(family.address.ip)}`),
    '--no-ping',
    '--quiet-dhcp',
    '--quiet-dhcp6',
    '--quiet-ra',
    `--pid-file=${places.pidFile}`,
    `--log-facility=${places.logFile}`,
    '--user=nobody',
    '--group=nogroup',
    ...dhcpArguments(plan, places),
  ];
  if (plan.dnsMode !== 'none') {
    out.push(`--domain=${plan.dnsDomain}`, `--local=/${plan.dnsDomain}/`);
    out.push(`--interface-name=_gateway.${plan.dnsDomain},${plan.name}`);
  }
  // Only reservations give names, or any container could claim any name.
  if (plan.dnsMode === 'managed') out.push('--dhcp-ignore-names');
  out.push(`--conf-file=${places.confFile}`);
  return out;
}

function dhcpArguments(plan: NetworkPlan, places: DnsmasqPlaces): string[] {
  const ipv4 = familyOf(plan, 4);
  const ipv6 = familyOf(plan, 6);
  const out: string[] = [];
  if (ipv4?.dhcp === true) {
    out.push(...leaseRanges(ipv4).map((range) => `--dhcp-range=${rangeText(range)},${ipv4.expiry}`));
    if (ipv4.gateway !== undefined) out.push(`--dhcp-option-force=3,${ipv4.gateway}`);
    if (plan.mtu !== 1500) out.push(`--dhcp-option-force=26,${plan.mtu}`);
  }
  if (ipv6 !== undefined) out.push(...ipv6Arguments(plan.name, ipv6));
  if (out.length === 0) return out;
  if (plan.dnsSearch.length > 0) {
    const names = plan.dnsSearch.join(',');
    if (ipv4?.dhcp === true) out.push(`--dhcp-option-force=option:domain-search,${names}`);
    if (ipv6 !== undefined) out.push(`--dhcp-option=option6:domain-search,${names}`);
  }
  return [
    '--dhcp-no-override',
    '--dhcp-authoritative',
    '--dhcp-rapid-commit',
    `--dhcp-leasefile=${places.leaseFile}`,
    `--dhcp-hostsfile=${places.hostsFile}`,
    ...out,
  ];
}

function ipv6Arguments(name: string, plan: FamilyPlan): string[] {
  if (plan.dhcp && plan.stateful) {
    const ranges = leaseRanges(plan).map(
      (range) => `--dhcp-range=${rangeText(range)},${plan.address.prefix},${plan.expiry}`,
    );
    return [...ranges, '--enable-ra'];
  }
  // Announcements are about /64s; validation lets another length through only with DHCP off.
  if (plan.address.prefix !== 64) return [];
  return [`--dhcp-range=::,constructor:${name},${plan.dhcp ? 'ra-stateless,ra-names' : 'ra-only'}`, '--enable-ra'];
}

/** Whether dnsmasq can serve the name: one DNS label (underscores inside allowed) that is no keyword of its host lines. */
export function isServableName(hostname: string): boolean {
  if (!/^[a-z0-9]([-_a-z0-9]{0,61}[a-z0-9])?$/i.test(hostname)) return false;
  return !/^([0-9]+[smhdw]?|infinite|ignore)$/i.test(hostname);
}

/** One host per hardware address, each reserved address once: the smaller id wins. */
export function distinctHosts(hosts: readonly NetworkHost[]): { kept: NetworkHost[]; dropped: string[] } {
  const seen = new Set<string>();
  const kept: NetworkHost[] = [];
  const dropped: string[] = [];
  for (const host of [...hosts].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    checkHost(host);
    const keys = [host.hwaddr.toLowerCase(), canonical(host.ipv4), canonical(host.ipv6)].filter((key) => key !== '');
    const clash = keys.find((key) => seen.has(key));
    if (clash === undefined) kept.push(host);
    else dropped.push(`${host.id}: ${clash} belongs to another host already`);
    for (const key of clash === undefined ? keys : []) seen.add(key);
  }
  return { kept, dropped };
}

function canonical(address: string | undefined): string {
  const ip = parseIp(address ?? '');
  return ip === undefined ? '' : formatIp(ip);
}

function checkHost(host: NetworkHost): void {
  const wrong: string[] = [];
  if (!isHwaddr(host.hwaddr)) wrong.push(`${JSON.stringify(host.hwaddr)} is no hardware address`);
  for (const [family, text] of [
    [4, host.ipv4],
    [6, host.ipv6],
  ] as const) {
    if (text !== undefined && parseIp(text)?.family !== family)
      wrong.push(`${JSON.stringify(text)} is no IPv${family} address`);
  }
  if (wrong.length > 0) throw driverErrors.invalid(`reservation of ${host.id}: ${wrong.join(', ')}`);
}

/** The text of the hosts file. A host without address and name has no line. */
export function renderHosts(hosts: readonly NetworkHost[], mode: DnsMode): string {
  return hosts
    .map((host) => {
      const parts: string[] = [];
      if (host.ipv4 !== undefined) parts.push(canonical(host.ipv4));
      if (host.ipv6 !== undefined) parts.push(`[${canonical(host.ipv6)}]`);
      if (mode === 'managed' && isServableName(host.hostname)) parts.push(host.hostname);
      return parts.length === 0 ? '' : `${[host.hwaddr.toLowerCase(), ...parts].join(',')}\n`;
    })
    .join('');
}

export interface LeaseLine {
  readonly family: IpFamily;
  /** Seconds since the epoch; 0 = never. */
  readonly expiry: number;
  /** Empty if the identifier of a DHCPv6 client does not contain it. */
  readonly hwaddr: string;
  readonly address: string;
  readonly hostname: string;
  /** Hex octets with colons, empty if there is none. */
  readonly clientId: string;
  /** IPv6 only. */
  readonly iaid: number;
  /** The unchanged line. */
  readonly text: string;
}

export interface LeaseFile {
  readonly leases: readonly LeaseLine[];
  /** The server's own DHCPv6 identifier, hex octets with colons. */
  readonly serverId: string | undefined;
}

/** Reads complete lines and skips the rest: dnsmasq rewrites the file in place. */
export function parseLeases(text: string): LeaseFile {
  let serverId: string | undefined;
  const leases: LeaseLine[] = [];
  for (const line of text.split('\n')) {
    const [first = '', second = '', address = '', hostname = '', clientId = ''] = line.split(' ');
    if (first === 'duid') {
      serverId = second;
      continue;
    }
    const ip = parseIp(address);
    if (ip === undefined || clientId === '' || !/^[0-9]+$/.test(first)) continue;
    const id = clientId === '*' ? '' : clientId.toLowerCase();
    leases.push({
      family: ip.family,
      expiry: Number(first),
      // A hardware type other than Ethernet precedes the address: 20-00:11:...
      hwaddr: ip.family === 4 ? second.replace(/^[0-9a-f]+-/, '').toLowerCase() : hwaddrOfDuid(id),
      address,
      hostname: hostname === '*' ? '' : hostname,
      clientId: id,
      iaid: ip.family === 6 ? Number(second.replace(/^T/, '')) : 0,
      text: line,
    });
  }
  return { leases, serverId };
}

/** DUID-LLT (1) and DUID-LL (3) of Ethernet (hardware type 1) end with the hardware address. */
function hwaddrOfDuid(duid: string): string {
  return (
    /^00:01:00:01:(?:..:){4}(..(?::..){5})$/.exec(duid)?.[1] ?? /^00:03:00:01:(..(?::..){5})$/.exec(duid)?.[1] ?? ''
  );
}

/** The lease file without the leases that `drop` selects; all other lines are unchanged. */
export function withoutLeases(text: string, drop: (lease: LeaseLine) => boolean): string {
  const gone = new Set(
    parseLeases(text)
      .leases.filter(drop)
      .map((lease) => lease.text),
  );
  return text
    .split('\n')
    .filter((line) => !gone.has(line))
    .join('\n');
}

export function isForeignLease(plan: NetworkPlan, lease: LeaseLine): boolean {
  const ip = parseIp(lease.address);
  return ip === undefined || !plan.families.some((family) => containsIp(family.address, ip));
}
