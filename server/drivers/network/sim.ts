// The network driver without a host: remembers networks in small files and hands out addresses as a DHCP server would.
// Needs no root and no Linux; which address a client gets is decided in sim-leases.ts.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { containsIp, formatIp, parseCidr, parseIp, type Cidr } from '../../api/text/ip.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { driverErrors } from '../driver-error.ts';
import type { InterfaceAddress } from '../interface-state.ts';
import { newBridge } from './link-parts.ts';
import { planNetwork, type NetworkPlan } from './config.ts';
import { distinctHosts } from './dnsmasq/format.ts';
import type { DynamicLease, HostInterface, NetworkDriver, NetworkHost, NetworkSpec, NetworkState } from './driver.ts';
import { fillNetworkConfig } from './fill-config.ts';
import { renderFirewall } from './firewall.ts';
import { SimNetworkFaults } from './sim-faults.ts';
import { giveLease, type SimAddresses, type SimClient } from './sim-leases.ts';

export { SimNetworkFaults } from './sim-faults.ts';

export interface SimNetworkDeps {
  /** A second driver opened here later finds the same networks. Absent: they are kept nowhere. */
  readonly dir?: string;
  /** Interfaces of the simulated host instead of its usual three. All but loopback are free to join a bridge. */
  readonly interfaces?: readonly HostInterface[];
  readonly faults?: SimNetworkFaults;
  /** Milliseconds since the epoch; drives the counters. */
  readonly now?: () => number;
  /** For picking subnets; default Math.random. */
  readonly random?: () => number;
}

export interface SimNetwork extends NetworkDriver {
  readonly name: 'sim';
  readonly faults: SimNetworkFaults;
  /** What a client gets by DHCP or makes itself from the announced prefix. Nothing when the network is not up. */
  leaseFor(network: string, client: SimClient): SimAddresses;
  /** The same, as the addresses of the client's interface. */
  addressesFor(network: string, client: SimClient): readonly InterfaceAddress[];
  /** What the network's DNS answers for a name without domain. */
  lookup(network: string, hostname: string): readonly string[];
}

interface NetworkFile {
  readonly config: Readonly<Record<string, string>>;
  readonly hosts: readonly NetworkHost[];
  readonly leases: readonly DynamicLease[];
  readonly since: number;
}

/** The interfaces of the simulated host; eth0 has its address, eth1 is free to join a bridge. */
const hostInterfaces: readonly HostInterface[] = [
  { name: 'lo', type: 'loopback' },
  { name: 'eth0', type: 'physical', addresses: ['192.0.2.10/24'] },
  { name: 'eth1', type: 'physical' },
];
const hostSubnet = '192.0.2.0/24';

export function openSimNetwork(deps: SimNetworkDeps): SimNetwork {
  return new Sim(deps);
}

class Sim implements SimNetwork {
  readonly name = 'sim';
  readonly faults: SimNetworkFaults;
  readonly #deps: SimNetworkDeps;
  readonly #now: () => number;
  readonly #mutex = new KeyedMutex();
  readonly #networks = new Map<string, NetworkFile>();

  constructor(deps: SimNetworkDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.faults = deps.faults ?? new SimNetworkFaults();
    if (deps.dir === undefined) return;
    mkdirSync(deps.dir, { recursive: true });
    for (const file of readdirSync(deps.dir).filter((each) => each.endsWith('.json'))) {
      const saved = JSON.parse(readFileSync(join(deps.dir, file), 'utf8')) as NetworkFile;
      this.#networks.set(file.slice(0, -'.json'.length), saved);
    }
  }

  async fillConfig(
    config: Readonly<Record<string, string>>,
    options: { readonly creating: boolean; readonly taken: readonly string[] },
  ): Promise<Record<string, string>> {
    await this.faults.pass('fillConfig', '');
    const own = [...this.#networks.values()].flatMap(({ config }) => [config['ipv4.address'], config['ipv6.address']]);
    const taken = [...options.taken, hostSubnet, ...own.flatMap((text) => text ?? [])];
    const random = this.#deps.random ?? Math.random;
    return fillNetworkConfig(config, { creating: options.creating, taken, hostHasIpv6: true, random });
  }

  async up(spec: NetworkSpec, signal: AbortSignal): Promise<void> {
    const plan = planNetwork(spec);
    await this.#mutex.run(spec.name, async () => {
      await this.faults.pass('up', spec.name, signal);
      checkHost(plan, this.#deps.interfaces);
      const before = this.#networks.get(spec.name);
      const leases = (before?.leases ?? []).filter((lease) =>
        plan.families.some((family) => isWithin(lease.address, family.address)),
      );
      this.#save(spec.name, {
        config: { ...spec.config },
        hosts: before?.hosts ?? [],
        leases,
        since: before?.since ?? this.#now(),
      });
    });
  }

  async setRules(spec: NetworkSpec): Promise<void> {
    await this.#mutex.run(spec.name, async () => {
      await this.faults.pass('setRules', spec.name);
      renderFirewall(planNetwork(spec));
      this.#need(spec.name, 'set its rules');
    });
  }

  async down(name: string): Promise<void> {
    await this.#mutex.run(name, async () => {
      await this.faults.pass('down', name);
      const file = this.#file(name);
      if (this.#networks.delete(name) && file !== undefined) rmSync(file, { force: true });
    });
  }

  async setHosts(name: string, hosts: readonly NetworkHost[]): Promise<void> {
    await this.#mutex.run(name, async () => {
      await this.faults.pass('setHosts', name);
      const { kept } = distinctHosts(hosts);
      const saved = this.#need(name, 'set reservations');
      if (JSON.stringify(kept) !== JSON.stringify(saved.hosts)) this.#save(name, { ...saved, hosts: kept });
    });
  }

  hwaddr(name: string): string | undefined {
    const saved = this.#networks.get(name);
    return saved === undefined ? undefined : bridgeHwaddr(planNetwork({ name, config: saved.config }));
  }

  async releaseLease(name: string, hwaddr: string): Promise<void> {
    await this.#mutex.run(name, async () => {
      await this.faults.pass('releaseLease', name);
      const saved = this.#need(name, `release the lease of ${hwaddr}`);
      const leases = saved.leases.filter((lease) => lease.hwaddr !== hwaddr.toLowerCase());
      if (leases.length < saved.leases.length) this.#save(name, { ...saved, leases });
    });
  }

  async leases(name: string): Promise<readonly DynamicLease[]> {
    await this.faults.pass('leases', name);
    return this.#networks.get(name)?.leases ?? [];
  }

  async isServing(): Promise<boolean> {
    return true;
  }

  async state(name: string): Promise<NetworkState | undefined> {
    await this.faults.pass('state', name);
    const saved = this.#networks.get(name);
    if (saved !== undefined) return bridgeState(planNetwork({ name, config: saved.config }), this.#now() - saved.since);
    const found = this.#interfaces().find((each) => each.name === name);
    return found === undefined ? undefined : hostState(found, this.#now());
  }

  async interfaces(): Promise<readonly HostInterface[]> {
    await this.faults.pass('interfaces', '');
    const bridges = [...this.#networks].map(([name, { config }]) => ({
      name,
      type: 'bridge' as const,
      addresses: [config['ipv4.address'], config['ipv6.address']].flatMap((one) => (one?.includes('/') ? one : [])),
    }));
    return [...this.#interfaces(), ...bridges];
  }

  async close(): Promise<void> {}

  leaseFor(network: string, client: SimClient): SimAddresses {
    const saved = this.#networks.get(network);
    if (saved === undefined) return {};
    const plan = planNetwork({ name: network, config: saved.config });
    const { leases, ...addresses } = giveLease(plan, saved.hosts, saved.leases, client);
    if (JSON.stringify(leases) !== JSON.stringify(saved.leases)) this.#save(network, { ...saved, leases });
    return addresses;
  }

  addressesFor(network: string, client: SimClient): readonly InterfaceAddress[] {
    const { ipv4, ipv6 } = this.leaseFor(network, client);
    const config = this.#networks.get(network)?.config ?? {};
    const prefix = (key: string): string => String(parseCidr(config[key] ?? '')?.prefix ?? 0);
    const out: InterfaceAddress[] = [];
    if (ipv4 !== undefined)
      out.push({ family: 'inet', address: ipv4, netmask: prefix('ipv4.address'), scope: 'global' });
    if (ipv6 !== undefined)
      out.push({ family: 'inet6', address: ipv6, netmask: prefix('ipv6.address'), scope: 'global' });
    return out;
  }

  lookup(network: string, hostname: string): readonly string[] {
    const saved = this.#networks.get(network);
    if (saved === undefined || saved.config['dns.mode'] === 'none') return [];
    const wanted = hostname.toLowerCase();
    return saved.leases.filter((lease) => lease.hostname.toLowerCase() === wanted).map((lease) => lease.address);
  }

  #need(name: string, doing: string): NetworkFile {
    const saved = this.#networks.get(name);
    if (saved === undefined) throw driverErrors.notFound(`${doing}: network ${name} was never brought up here`);
    return saved;
  }

  #interfaces(): readonly HostInterface[] {
    return this.#deps.interfaces ?? hostInterfaces;
  }

  #file(name: string): string | undefined {
    return this.#deps.dir === undefined ? undefined : join(this.#deps.dir, `${name}.json`);
  }

  #save(name: string, saved: NetworkFile): void {
    const file = this.#file(name);
    if (file !== undefined) {
      writeFileSync(`${file}.new`, JSON.stringify(saved));
      renameSync(`${file}.new`, file);
    }
    this.#networks.set(name, saved);
  }
}

function isWithin(address: string, subnet: Cidr): boolean {
  const ip = parseIp(address);
  return ip !== undefined && containsIp(subnet, ip);
}

function checkHost(plan: NetworkPlan, interfaces: readonly HostInterface[] | undefined): void {
  const there = interfaces ?? hostInterfaces;
  if (there.some((each) => each.name === plan.name)) {
    throw driverErrors.inUse(
      `network ${plan.name}: this host has an interface of that name already, made by somebody else`,
    );
  }
  for (const name of plan.external) {
    const what = `network ${plan.name}: bridge.external_interfaces`;
    if (!there.some((each) => each.name === name)) {
      throw driverErrors.notFound(`${what}: this host has no interface ${name}`);
    }
    if (interfaces === undefined && name !== 'eth1')
      throw driverErrors.inUse(`${what}: ${name} has the address 192.0.2.2`);
  }
}

function moving(elapsedMs: number): NetworkState['counters'] {
  const packets = Math.floor(Math.max(0, elapsedMs) / 100) + 1;
  return {
    bytes_received: packets * 90,
    bytes_sent: packets * 70,
    packets_received: packets,
    packets_sent: packets,
  };
}

function bridgeState(plan: NetworkPlan, elapsedMs: number): NetworkState {
  return {
    addresses: plan.families.map((family) => ({
      family: family.family === 4 ? 'inet' : 'inet6',
      address: formatIp(family.address.ip),
      netmask: String(family.address.prefix),
      scope: 'global',
    })),
    counters: moving(elapsedMs),
    hwaddr: bridgeHwaddr(plan),
    mtu: plan.mtu,
    state: 'up',
    type: 'broadcast',
    bridge: newBridge(bridgeHwaddr(plan)),
  };
}

function bridgeHwaddr({ name, hwaddr }: NetworkPlan): string {
  if (hwaddr !== '') return hwaddr;
  const sum = Array.from(name).reduce((value, char) => (Math.imul(value, 31) + char.charCodeAt(0)) >>> 0, 7);
  const octets = [16, 8, 0].map((shift) => ((sum >>> shift) & 255).toString(16).padStart(2, '0'));
  return `00:16:3e:${octets.join(':')}`;
}

function hostState(link: HostInterface, nowMs: number): NetworkState {
  const isLoopback = link.type === 'loopback';
  const address = isLoopback ? '127.0.0.1' : '192.0.2.2';
  const netmask = isLoopback ? '8' : '24';
  return {
    addresses:
      link.name === 'eth1' ? [] : [{ family: 'inet', address, netmask, scope: isLoopback ? 'local' : 'global' }],
    counters: moving(nowMs % 1_000_000_000),
    hwaddr: isLoopback ? '' : `02:00:00:00:00:0${link.name.slice(-1)}`,
    mtu: isLoopback ? 65_536 : 1500,
    state: 'up',
    type: isLoopback ? 'loopback' : 'broadcast',
  };
}
