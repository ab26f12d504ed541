// Brings the networks of this host up at the start of the daemon, and again those that did not come up, or lost their bridge or dnsmasq.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { NetworkDriver } from '../../drivers/network/driver.ts';
import { mapAtMost } from '../../lib/shared/concurrency-limit.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { NetworkDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import { KnownProblems } from '../shared/known-problems.ts';
import type { NetworkHosts } from './network-hosts.ts';
import { networkSpec } from './network-spec.ts';
import { networkLock } from './networks.ts';

export interface NetworkWatchDeps extends Pick<ServiceParts, 'locks' | 'log'> {
  readonly records: Pick<Records, 'networkAcls' | 'networks'>;
  readonly network: Pick<NetworkDriver, 'up' | 'isServing'>;
  readonly hosts: Pick<NetworkHosts, 'refresh'>;
}

type Network = Pick<Entry<NetworkDocument>, 'name' | 'document'>;
const atOnce = 8;

export class NetworkWatch {
  readonly #deps: NetworkWatchDeps;
  readonly #problems: KnownProblems;

  constructor(deps: NetworkWatchDeps) {
    this.#deps = deps;
    this.#problems = new KnownProblems(deps.log);
  }

  /** Networks that are down, by name, and why. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems.byName;
  }

  /** At daemon start. Logs a network that cannot come up, and continues with the others. */
  async upAll(): Promise<void> {
    await this.#each(this.#deps.records.networks.list(), ({ name, document }) => this.#up(name, document));
  }

  /** Side by side, since a program that hangs delays its network for half a minute. Two networks may want one interface of the host: the first
   *  gets it. */
  async #each(networks: readonly Network[], work: (network: Network) => Promise<void>): Promise<void> {
    const [bound, free]: [Network[], Network[]] = [[], []];
    for (const network of networks) {
      const taken = network.document.config['bridge.external_interfaces'] ?? '';
      (taken === '' ? free : bound).push(network);
    }
    const inOrder = async (): Promise<void> => {
      for (const network of bound) await work(network);
    };
    await Promise.all([inOrder(), mapAtMost(atOnce, free, work)]);
  }

  /** Each minute. */
  async look(): Promise<void> {
    const { records, locks } = this.#deps;
    // A change under way starts and ends it itself, and a network with a known problem is brought up anyway.
    const down: string[] = [];
    for (const { name, document } of records.networks.list())
      if (document.lifecycle === 'ready' && !this.#problems.byName.has(name))
        if ((await this.#stateOf(name, document)) !== 'serving') down.push(name);
    for (const name of new Set([...this.#problems.byName.keys(), ...down]))
      await locks.run(networkLock(name), async () => {
        const document = records.networks.get(name)?.document;
        if (document === undefined) this.#problems.forget(name);
        else if (document.lifecycle === 'ready') await this.#upAgain(name, document);
      });
  }

  async #upAgain(name: string, document: NetworkDocument): Promise<void> {
    if (!this.#problems.byName.has(name)) {
      const is = await this.#stateOf(name, document);
      // Another change may have started it meanwhile.
      if (is === 'serving') return;
      if (is === 'lost')
        this.#deps.log.warn(
          `The network ${name} has lost its bridge, its dnsmasq or an address: it is brought up again`,
        );
    }
    await this.#up(name, document);
  }

  /** Unknown: the network cannot be planned from its config. `up` says why. */
  async #stateOf(name: string, { config }: NetworkDocument): Promise<'serving' | 'lost' | 'unknown'> {
    const { records, network } = this.#deps;
    try {
      return (await network.isServing(networkSpec(records, name, config))) ? 'serving' : 'lost';
    } catch {
      return 'unknown';
    }
  }

  async #up(name: string, { config }: NetworkDocument): Promise<void> {
    const { records, network, hosts, log } = this.#deps;
    try {
      await network.up(networkSpec(records, name, config), new AbortController().signal);
      await hosts.refresh([name]);
      if (this.#problems.forget(name)) log.info(`The network ${name} is up`);
    } catch (error) {
      this.#problems.note(name, `The network ${name} cannot be brought up: ${errorText(error)}`);
    }
  }
}
