// Keeps the static leases and names of managed networks in step with the containers on them.
import type { NetworkDriver, NetworkHost } from '../../drivers/network/driver.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText, type Log } from '../../lib/log.ts';
import type { Records } from '../../records/records.ts';
import { nicNetwork } from '../expand.ts';
import type { ContainerEntry, ContainerView } from './view.ts';

export interface NetworkHostsDeps {
  readonly records: Records;
  readonly runtime: RuntimeDriver;
  readonly network: NetworkDriver;
  readonly view: ContainerView;
  readonly log: Log;
}

/** On a network are: every nic with a fixed address (so that it is never given away), and the nics of containers that run
 *  or are about to. */
export class NetworkHosts {
  readonly #deps: NetworkHostsDeps;
  readonly #locks = new KeyedMutex();
  readonly #starting = new Set<string>();

  constructor(deps: NetworkHostsDeps) {
    this.#deps = deps;
  }

  /** Before and during a start: the container counts as up, so that its name and address wait for it. */
  async whileStarting<T>(name: string, networks: readonly string[], start: () => Promise<T>): Promise<T> {
    this.#starting.add(name);
    try {
      for (const network of new Set(networks)) await this.#refresh(network);
      return await start();
    } finally {
      this.#starting.delete(name);
    }
  }

  /** After a change that is done whatever happens here: a network that cannot be told is reported, and told at its next chance. */
  async settle(networks: readonly string[]): Promise<void> {
    for (const network of new Set(networks)) {
      await this.#refresh(network).catch((error: unknown) => {
        this.#deps.log.warn(`Telling the network ${network} of its containers failed: ${errorText(error)}`);
      });
    }
  }

  async #refresh(network: string): Promise<void> {
    if (!this.#deps.records.networks.has(network)) return;
    await this.#locks.run(network, () => this.#deps.network.setHosts(network, this.on(network)));
  }

  on(network: string): readonly NetworkHost[] {
    const { records } = this.#deps;
    return records.containers.list().flatMap((entry) => this.#hostsOf(entry, network));
  }

  #hostsOf(entry: ContainerEntry, network: string): readonly NetworkHost[] {
    const { devices } = this.#deps.view.expanded(entry);
    const isUp = this.#starting.has(entry.name) || this.#deps.runtime.probe(entry.name).status !== 'stopped';
    return Object.entries(devices).flatMap(([device, properties]) => {
      if (nicNetwork(properties) !== network) return [];
      const hwaddr = properties['hwaddr'] ?? entry.document.config[`volatile.${device}.hwaddr`];
      const ipv4 = properties['ipv4.address'];
      const ipv6 = properties['ipv6.address'];
      if (hwaddr === undefined || (!isUp && ipv4 === undefined && ipv6 === undefined)) return [];
      return [
        {
          id: `${entry.name}.${device}`,
          hwaddr,
          hostname: entry.name,
          ...(ipv4 === undefined ? {} : { ipv4 }),
          ...(ipv6 === undefined ? {} : { ipv6 }),
        },
      ];
    });
  }
}
