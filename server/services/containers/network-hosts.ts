// Keeps the static leases and names of managed networks in step with the containers on them.
import type { NetworkDriver, NetworkHost } from '../../drivers/network/driver.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import type { Records } from '../../records/records.ts';
import { nicNetwork } from '../expand.ts';
import type { ContainerEntry, ContainerView } from './view.ts';

export interface NetworkHostsDeps {
  readonly records: Records;
  readonly runtime: RuntimeDriver;
  readonly network: NetworkDriver;
  readonly view: ContainerView;
}

/** On a network are: every nic with a fixed address (so that it is never given away), and the nics of containers that run
 *  or are about to. */
export class NetworkHosts {
  readonly #deps: NetworkHostsDeps;
  readonly #locks = new KeyedMutex();

  constructor(deps: NetworkHostsDeps) {
    this.#deps = deps;
  }

  async refresh(networks: readonly string[], starting?: string): Promise<void> {
    for (const network of new Set(networks)) {
      if (!this.#deps.records.networks.has(network)) continue;
      await this.#locks.run(network, () => this.#deps.network.setHosts(network, this.on(network, starting)));
    }
  }

  on(network: string, starting?: string): readonly NetworkHost[] {
    const { records } = this.#deps;
    return records.containers.list().flatMap((entry) => this.#hostsOf(entry, network, starting));
  }

  #hostsOf(entry: ContainerEntry, network: string, starting: string | undefined): readonly NetworkHost[] {
    const { devices } = this.#deps.view.expanded(entry);
    const isUp = entry.name === starting || this.#deps.runtime.probe(entry.name).status !== 'stopped';
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
