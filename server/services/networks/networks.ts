// Networks: use cases of the API. Managed bridges come from records, other host interfaces are shown read-only.
import type { ServiceParts } from '../shared/service-parts.ts';
import { networkName } from '../../api/names.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { Network, NetworkCreate, NetworkLease, NetworkPut } from '../../api/network/network.ts';
import { errors, mustFind, checkName } from '../../api/errors.ts';
import { findNetworkConfigKey } from '../../api/network/network-config.ts';
import { validateNetworkConfig } from '../../api/network/validate-network-config.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { NetworkState } from '../../drivers/network/driver.ts';
import type { NetworkDocument } from '../../records/documents.ts';
import type { Entry } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { networkKeys } from '../shared/member-keys.ts';
import { refuseNicHwaddr } from './bridge-hwaddr.ts';
import { fixedLeases, gatewayLeases } from './leases.ts';
import type { NetworkHosts } from './network-hosts.ts';
import type { ContainerView } from '../shared/container-view.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { addressKeys, takenAddresses } from './taken-addresses.ts';
import { patchDescribed, putDescribed, replaceConfig } from '../shared/patch.ts';
import { containersWith } from '../shared/used-by.ts';
import { createNetworkSaga } from './sagas/network-create.ts';
import { refuseUsedNetwork, networkUsers } from './network-users.ts';
import { missingAcls, networkSpec, requireAcls } from './network-spec.ts';
import { renameNetworkSaga } from './sagas/network-rename.ts';
import { deleteNetworkSaga } from './sagas/network-delete.ts';

export interface NetworksDeps extends Pick<ServiceParts, 'records' | 'network' | 'sagas' | 'events' | 'locks' | 'log'> {
  readonly hosts: NetworkHosts;
  /** The running containers, whose nics apply a change of their network. */
  readonly running: { applyAll(names: readonly string[]): Promise<void> };
  readonly view: ContainerView;
  /** Name of this member of a cluster; `none` outside one. */
  readonly location: () => string;
}

const urlOf = (name: string): string => `/1.0/networks/${encodeURIComponent(name)}`;
export const networkLock = (name: string): string => `network/${name}`;
/** Held while subnets are chosen and checked; taken after the lock of a network. */
const subnetsLock = 'networks/subnets';

export class Networks {
  readonly #deps: NetworksDeps;
  /** By the names of networks in creation or change. */
  readonly #pending = new Map<string, ConfigMap>();

  constructor(deps: NetworksDeps) {
    this.#deps = deps;
  }

  /** Managed networks and the host's other interfaces, without container ends (veth…). */
  async names(): Promise<readonly string[]> {
    return (await this.list()).map((network) => network.name);
  }

  async list(): Promise<readonly Network[]> {
    const managed = this.#deps.records.networks.list().map((entry) => this.#render(entry));
    const known = new Set(managed.map((network) => network.name));
    const others = (await this.#deps.network.interfaces()).filter(
      ({ name }) => !known.has(name) && !name.startsWith('veth'),
    );
    const unmanaged = others.map(({ name, type }) => this.#renderUnmanaged(name, type));
    return [...managed, ...unmanaged].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async get(name: string): Promise<{ readonly object: Network; readonly etag: string }> {
    const entry = this.#deps.records.networks.get(name);
    if (entry !== undefined) return { object: this.#render(entry), etag: this.#etag(name, entry.document) };
    const found = (await this.#deps.network.interfaces()).find((candidate) => candidate.name === name);
    if (found === undefined) throw errors.notFound('network', name);
    const object = this.#renderUnmanaged(name, found.type);
    return { object, etag: etagOf.network({ v: 1, description: '', type: 'bridge', config: {}, lifecycle: 'ready' }) };
  }

  async create(caller: Caller, body: NetworkCreate): Promise<void> {
    const { name, type = '' } = body;
    checkName('network', name, networkName);
    if (type !== '' && type !== 'bridge') {
      throw errors.invalid(`network ${name}`, [
        { path: 'type', message: `only bridge networks can be created, is ${JSON.stringify(type)}` },
      ]);
    }
    const sent = replaceConfig(body.config, findNetworkConfigKey);
    this.#check(name, sent);
    await this.#deps.locks.run(networkLock(name), async () => {
      await this.#refuseTaken(name);
      await this.#withSubnets(name, sent, undefined, async (config) => {
        const document: NetworkDocument = {
          v: 1,
          description: body.description ?? '',
          type: 'bridge',
          config,
          lifecycle: 'ready',
        };
        await this.#deps.sagas.run(createNetworkSaga(this.#deps), { name, document });
      });
    });
    this.#deps.events.lifecycle('network-created', urlOf(name), caller);
  }

  put(caller: Caller, name: string, body: NetworkPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => putDescribed(document, body, findNetworkConfigKey));
  }

  patch(caller: Caller, name: string, body: NetworkPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => patchDescribed(document, body, findNetworkConfigKey));
  }

  async rename(caller: Caller, name: string, to: string): Promise<void> {
    await this.#deps.locks.runAll([networkLock(name), networkLock(to)], async () => {
      const { document } = this.#managed(name);
      if (this.#deps.records.networks.has(to)) throw errors.exists('network', to);
      checkName('network', to, networkName);
      // Interfaces of its tunnels begin with its name.
      this.#check(to, document.config);
      await this.#refuseTaken(to);
      refuseUsedNetwork(this.#deps.records, name);
      await this.#deps.sagas.run(renameNetworkSaga(this.#deps), { name, to, document });
    });
    this.#deps.events.lifecycle('network-renamed', urlOf(name), caller, { new_name: to });
  }

  async delete(caller: Caller, name: string): Promise<void> {
    this.#managed(name);
    await this.#deps.sagas.finishUndo('networks', name);
    // A network in creation is gone once that is undone.
    if (!this.#deps.records.networks.has(name)) return;
    await this.#deps.locks.run(networkLock(name), async () => {
      const { document } = this.#managed(name);
      refuseUsedNetwork(this.#deps.records, name);
      await this.#deps.sagas.run(deleteNetworkSaga(this.#deps), { name, document });
    });
    this.#deps.events.lifecycle('network-deleted', urlOf(name), caller);
  }

  async state(name: string): Promise<NetworkState> {
    const state = await this.#deps.network.state(name);
    if (state === undefined) throw errors.notFound('network', name);
    return state;
  }

  /** The bridge's own addresses, static leases of containers, then other dynamic ones. `isPart`: another member of the cluster adds the
   *  first. */
  async leases(name: string, isPart = false): Promise<readonly NetworkLease[]> {
    const { config } = this.#managed(name).document;
    const location = this.#deps.location();
    const fixed = fixedLeases(this.#deps.hosts.on(name), location);
    const known = new Set(fixed.map((lease) => `${lease.hwaddr} ${lease.address}`));
    const dynamic = (await this.#deps.network.leases(name))
      .filter((lease) => !known.has(`${lease.hwaddr} ${lease.address}`))
      .map((lease) => ({ ...lease, type: 'dynamic', location }));
    return [...(isPart ? [] : gatewayLeases(name, config)), ...fixed, ...dynamic];
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (document: NetworkDocument) => NetworkDocument,
  ): Promise<void> {
    await this.#deps.sagas.finishUndo('networks', name);
    await this.#deps.locks.run(networkLock(name), async () => {
      const { document } = this.#managed(name);
      checkIfMatch(ifMatch, this.#etag(name, document), 'network', name);
      const drafted = next(document);
      this.#check(name, drafted.config);
      refuseNicHwaddr(this.#deps, name, drafted.config, document.config);
      await this.#withSubnets(name, drafted.config, document.config, (config) =>
        this.#changeTo(name, document, { ...drafted, config }),
      );
    });
    // Filters contain addresses of the subnets.
    await this.#deps.running.applyAll(containersWith(this.#deps.records, 'network', name).map((entry) => entry.name));
    this.#deps.events.lifecycle('network-updated', urlOf(name), caller);
  }

  async #changeTo(name: string, before: NetworkDocument, wanted: NetworkDocument): Promise<void> {
    // Recorded first: after a crash in between, the next start brings the host to the recorded state.
    await this.#commit(name, wanted);
    try {
      await this.#deps.network.up(networkSpec(this.#deps.records, name, wanted.config), new AbortController().signal);
    } catch (error) {
      await this.#undo(name, before).catch((failed: unknown) => {
        const change = `The failed change of the network ${name}`;
        this.#deps.log.error(`${change} (${errorText(error)}) could not be undone: ${errorText(failed)}`);
      });
      throw error;
    }
  }

  async #undo(name: string, before: NetworkDocument): Promise<void> {
    await this.#commit(name, before);
    await this.#deps.network.up(networkSpec(this.#deps.records, name, before.config), new AbortController().signal);
  }

  /** Runs `work` with the config whose subnets are chosen, checked and reserved until its end, so that concurrent creations never get one
   *  subnet. `before`: the config of an existing network. */
  async #withSubnets(
    name: string,
    drafted: ConfigMap,
    before: ConfigMap | undefined,
    work: (config: ConfigMap) => Promise<void>,
  ): Promise<void> {
    const config = await this.#deps.locks.run(subnetsLock, async () => {
      const networks = this.#others(name);
      const taken = networks.flatMap((other) => addressKeys.flatMap((key) => other.config[key] ?? []));
      const filled = await this.#deps.network.fillConfig(drafted, { creating: before === undefined, taken });
      const interfaces = await this.#deps.network.interfaces();
      const problems = takenAddresses(name, filled, before ?? {}, { networks, interfaces });
      if (problems.length > 0) throw errors.invalid(`network ${name}`, problems);
      this.#pending.set(name, filled);
      return filled;
    });
    try {
      await work(config);
    } finally {
      this.#pending.delete(name);
    }
  }

  /** Other networks: recorded ones, and those in creation or change. A changing one may keep either config. */
  #others(name: string): readonly { readonly name: string; readonly config: ConfigMap }[] {
    const recorded = this.#deps.records.networks.list().map((entry) => ({
      name: entry.name,
      config: entry.document.config,
    }));
    const pending = [...this.#pending].map(([other, config]) => ({ name: other, config }));
    return [...recorded, ...pending].filter((other) => other.name !== name);
  }

  /** The same on every member of a cluster. */
  #etag(name: string, document: NetworkDocument): string {
    const isShared = this.#deps.records.networkDefinitions.has(name);
    return etagOf.network(isShared ? { ...document, config: networkKeys.split(document.config).shared } : document);
  }

  #commit(name: string, document: NetworkDocument): Promise<void> {
    return this.#deps.records.retry((changes) => {
      requireAcls(changes, document.config);
      changes.put('networks', name, document);
    });
  }

  async #refuseTaken(name: string): Promise<void> {
    if (this.#deps.records.networks.has(name)) throw errors.exists('network', name);
    if ((await this.#deps.network.interfaces()).some((candidate) => candidate.name === name)) {
      throw errors.badRequest(`The host already has an interface named ${name}: choose another name`, [
        { path: 'name', message: 'is an interface of the host' },
      ]);
    }
  }

  #check(name: string, config: ConfigMap): void {
    const problems = [...validateNetworkConfig(name, config), ...missingAcls(this.#deps.records, config)];
    if (problems.length > 0) throw errors.invalid(`network ${name}`, problems);
  }

  #managed(name: string): Entry<NetworkDocument> {
    return mustFind(this.#deps.records.networks.get(name), 'network', name);
  }

  #render({ name, document }: Entry<NetworkDocument>): Network {
    return {
      name,
      description: document.description,
      type: document.type,
      config: { ...document.config },
      managed: true,
      status: document.lifecycle === 'ready' ? 'Created' : 'Pending',
      locations: ['none'],
      used_by: [...networkUsers(this.#deps.records, name)],
    };
  }

  #renderUnmanaged(name: string, type: string): Network {
    return {
      name,
      description: '',
      type,
      config: {},
      managed: false,
      status: '',
      locations: [],
      used_by: [...networkUsers(this.#deps.records, name)],
    };
  }
}
