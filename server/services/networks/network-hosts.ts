// Keeps the static leases and names of managed networks in step with the containers on them.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { NetworkHost } from '../../drivers/network/driver.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { dnsName, plainName, projectOf } from '../../api/project/project-names.ts';
import { errors } from '../../api/errors.ts';
import type { Problem } from '../../api/problem.ts';
import { containersWith } from '../shared/used-by.ts';
import { isLayer3 } from '../../api/devices/index.ts';
import { nicNetwork } from '../shared/expand.ts';
import { bridgeHwaddr } from './bridge-hwaddr.ts';
import { claimsOfOthers } from './claims-of-others.ts';
import {
  bridgeProblems,
  claimsOf,
  subnetProblems,
  takenProblems,
  uselessAddresses,
  type Claim,
} from './nic-addresses.ts';
import { fixedAddress, isHandedOut } from './nic-filtering.ts';
import { reserveAddresses, runDevices } from './reserve-addresses.ts';
import { readyContainer } from '../shared/find-container.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import type { ContainerEntry, ContainerView } from '../shared/container-view.ts';
import type { Records } from '../../records/records.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface NetworkHostsDeps extends Pick<ServiceParts, 'records' | 'runtime' | 'network' | 'log'> {
  readonly view: ContainerView;
}

/** A network's hosts: every nic with a fixed address (which must never be leased to others), and the nics of containers that run or are
 *  about to. */
export class NetworkHosts {
  readonly #deps: NetworkHostsDeps;
  readonly #locks = new KeyedMutex();
  readonly #starting = new Set<string>();
  /** Addresses that pending changes of containers need, by container, until they are recorded. */
  readonly claimed = new Map<string, readonly Claim[]>();

  constructor(deps: NetworkHostsDeps) {
    this.#deps = deps;
  }

  /** Around a start: the container counts as up, so that its name and address are ready for it. */
  async whileStarting<T>(name: string, networks: readonly string[], start: () => Promise<T>): Promise<T> {
    this.refuseAddresses(name);
    this.#starting.add(name);
    try {
      for (const network of new Set(networks)) await this.#setHosts(network);
      return await start();
    } finally {
      this.#starting.delete(name);
    }
  }

  /** A container may be recorded with another one's address (a copy, a restored snapshot, a profile of both): only one of them can be up.
   *  Throws AppError badRequest. */
  refuseAddresses(name: string): void {
    const { records, view } = this.#deps;
    const entry = records.containers.get(name);
    if (entry === undefined) return;
    const { devices, config } = view.expanded(entry);
    const own = claimsOf(name, devices, config);
    if (own.length === 0) return;
    const others = claimsOfOthers(records, view, own).filter(({ container }) => this.#isUp(container));
    this.#refuse(name, [...takenProblems(own, others), ...subnetProblems(records, own), ...this.#bridgeProblems(own)]);
  }

  /** New addresses of a container must be free, also among stopped containers and pending changes. Reserves them until they are removed
   *  from `claimed`. `kept`: the container's current addresses. Throws AppError badRequest. */
  claim(name: string, claims: readonly Claim[], kept: readonly Claim[]): void {
    if (claims.length === 0) return;
    this.refuseTaken(name, claims, kept);
    this.claimed.set(name, claims);
  }

  /** Reserves them until `work` has recorded them. */
  async claiming(name: string, claims: readonly Claim[], work: () => Promise<void>): Promise<void> {
    this.claim(name, claims, []);
    try {
      await work();
    } finally {
      this.claimed.delete(name);
    }
  }

  /** The same check without a reservation. */
  refuseTaken(name: string, claims: readonly Claim[], kept: readonly Claim[] = []): void {
    const { records, view } = this.#deps;
    const underWay = [...this.claimed.values()].flat().filter(({ container }) => container !== name);
    const others = [...claimsOfOthers(records, view, claims), ...underWay, ...kept];
    this.#refuse(name, [...takenProblems(claims, others), ...subnetProblems(records, claims)]);
  }

  /** Static addresses without effect, except those of `before`. Not for containers that arrive by a move, a migration or a backup: they keep
   *  what they have. */
  refuseUseless(name: string, devices: DeviceMap, before?: DeviceMap): void {
    this.#refuse(name, uselessAddresses(this.#deps.records, devices, before));
  }

  #bridgeProblems(claims: readonly Claim[]): readonly Problem[] {
    const { records, network } = this.#deps;
    return bridgeProblems(claims, (name) => bridgeHwaddr(records, network, name));
  }

  #refuse(name: string, problems: readonly Problem[]): void {
    if (problems.length > 0) throw errors.invalid(`container ${plainName(name)}`, problems);
  }

  /** The container's devices for a start. Reserves and records addresses for filtered nics without one. */
  async reserveDevices(name: string): Promise<DeviceMap> {
    const { records, network, view } = this.#deps;
    const { devices } = view.expanded(readyContainer(records, name));
    this.#refuse(
      name,
      lentProblems(this.#deps, name, devices, (other) => this.#isUp(other)),
    );
    await reserveAddresses({ records, network, locks: this.#locks }, name);
    return this.devices(name);
  }

  /** The same with the addresses reserved so far. */
  devices(name: string): DeviceMap {
    const { records, view } = this.#deps;
    const entry = readyContainer(records, name);
    return runDevices(records, name, view.expanded(entry), entry.document.config);
  }

  #isUp(name: string): boolean {
    return this.#starting.has(name) || this.#deps.runtime.probe(name).status !== 'stopped';
  }

  /** Call after a change that stands in any case: logs a network that cannot be updated, and retries it later. */
  async refresh(networks: readonly string[]): Promise<void> {
    for (const network of new Set(networks)) {
      await this.#setHosts(network).catch((error: unknown) => {
        this.#deps.log.warn(`Updating the hosts of the network ${network} failed: ${errorText(error)}`);
      });
    }
  }

  async #setHosts(network: string): Promise<void> {
    if (!this.#deps.records.networks.has(network)) return;
    await this.#locks.run(network, () => this.#deps.network.setHosts(network, this.on(network)));
  }

  on(network: string): readonly NetworkHost[] {
    // If two have one address, it belongs to the container that is up: a stopped copy must not take it away.
    const entries = containersWith(this.#deps.records, 'network', network).map((entry) => ({
      entry,
      isUp: this.#isUp(entry.name),
    }));
    const hosts = (wanted: boolean): readonly NetworkHost[] =>
      entries.flatMap(({ entry, isUp }) => (isUp === wanted ? this.#hostsOf(entry, network) : []));
    const up = hosts(true);
    const has = (key: 'hwaddr' | 'ipv4' | 'ipv6', host: NetworkHost): boolean =>
      host[key] !== undefined && up.some((other) => other[key] === host[key]);
    const free = hosts(false).filter((host) => !has('hwaddr', host) && !has('ipv4', host) && !has('ipv6', host));
    return [...up, ...free];
  }

  /** An address that the container derives from its hardware address is no reservation. */
  #handedOut(network: string, device: string, properties: ConfigMap, config: ConfigMap): string {
    const networkConfig = this.#deps.records.networks.get(network)?.document.config ?? {};
    return fixedAddress(device, properties, isHandedOut(network, networkConfig, 6) ? config : {}, 6);
  }

  #hostsOf(entry: ContainerEntry, network: string): readonly NetworkHost[] {
    const { devices } = this.#deps.view.expanded(entry);
    const { config } = entry.document;
    const isUp = this.#isUp(entry.name);
    return Object.entries(devices).flatMap(([device, properties]) => {
      if (nicNetwork(properties) !== network || isLayer3(properties)) return [];
      const hwaddr = properties['hwaddr'] || config[`volatile.${device}.hwaddr`];
      const ipv4 = fixedAddress(device, properties, config, 4) || undefined;
      const ipv6 = this.#handedOut(network, device, properties, config) || undefined;
      if (hwaddr === undefined || (!isUp && ipv4 === undefined && ipv6 === undefined)) return [];
      return [
        {
          id: `${entry.name}.${device}`,
          hwaddr,
          hostname: dnsName(entry.name),
          ...withoutUndefined({ ipv4, ipv6 }),
        },
      ];
    });
  }
}

/** Names of the host's interfaces, by device. */
function givenWhole(devices: DeviceMap): readonly (readonly [device: string, name: string])[] {
  return Object.entries(devices).flatMap(([device, properties]) => {
    const name = properties['nictype'] === 'physical' ? nicNetwork(properties) : undefined;
    return name === undefined ? [] : [[device, name] as const];
  });
}

/** `isUp`: whether a container runs, or is about to. */
function lentProblems(
  { records, view }: { readonly records: Records; readonly view: Pick<ContainerView, 'expanded'> },
  container: string,
  devices: DeviceMap,
  isUp: (name: string) => boolean,
): Problem[] {
  return givenWhole(devices).flatMap(([device, wanted]) => {
    const owner = containersWith(records, 'network', wanted).find(
      (entry) =>
        entry.name !== container &&
        isUp(entry.name) &&
        givenWhole(view.expanded(entry).devices).some(([, name]) => name === wanted),
    );
    if (owner === undefined) return [];
    const isOwn = projectOf(owner.name) === projectOf(container);
    const who = isOwn ? `container ${plainName(owner.name)}` : 'a container of another project';
    const message = `cannot be ${wanted}: ${who} has it while it runs; stop that one, or name another interface`;
    return [{ path: `devices.${device}.parent`, message }];
  });
}
