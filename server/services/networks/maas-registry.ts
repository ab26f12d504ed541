// Keeps containers' addresses reserved with a MAAS server (maas.subnet.* of nics), in step with the records.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import { isNic, resolveDevice } from '../../api/devices/index.ts';
import { defaultProject, plainName, projectOf } from '../../api/project/project-names.ts';
import { Maas } from '../../drivers/maas/maas.ts';
import {
  register,
  sweep,
  unregister,
  type RegistrationPlace,
  type WantedDevice,
} from '../../drivers/maas/registration.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import { expand } from '../shared/expand.ts';
import { KnownProblems } from '../shared/known-problems.ts';
import { profilesOf } from '../shared/project-scope.ts';

export interface MaasSettings {
  readonly url: string;
  readonly key: string;
  readonly machine: string;
}

export interface MaasRegistryDeps extends Pick<ServiceParts, 'records' | 'log'> {
  /** Current settings; undefined: no MAAS server is set. */
  readonly maas: () => MaasSettings | undefined;
  /** Identifies this daemon among all that use the server. */
  readonly tag: string;
}

/** What MAAS last received for a container. */
interface Registration {
  readonly hostname: string;
  readonly wanted: string;
}

/** The key of a problem that concerns no container. */
const whole = '';

export class MaasRegistry {
  readonly #deps: MaasRegistryDeps;
  readonly #locks = new KeyedMutex();
  readonly #problems: KnownProblems;
  /** By the uuid of a container. */
  readonly #registered = new Map<string, Registration>();
  /** Containers in creation: they have no record yet. */
  readonly #making = new Set<string>();
  /** Settings of the last swept server. */
  #swept = '';

  constructor(deps: MaasRegistryDeps) {
    this.#deps = deps;
    this.#problems = new KnownProblems(deps.log);
  }

  /** One sentence per container that MAAS does not have. */
  get problems(): readonly string[] {
    return [...this.#problems.byName.values()];
  }

  /** Reserves the addresses of a container that `record` makes. If MAAS refuses, or `record` fails, neither exists. */
  async reserving(name: string, document: ContainerDocument, record: () => Promise<void>): Promise<void> {
    const wanted = this.#wantedOf(name, document);
    const place = this.#place();
    if (place === undefined || wanted === undefined) return record();
    this.#making.add(wanted.uuid);
    try {
      await this.#register(place, wanted);
      await record();
    } catch (error) {
      await this.#forget(place, wanted.uuid, wanted.hostname).catch((left: unknown) => this.#note(name, left));
      throw error;
    } finally {
      this.#making.delete(wanted.uuid);
    }
  }

  /** Call after a change of a container. Throws MAAS' refusal; MAAS then has the previous state, or a part of it. */
  async follow(name: string): Promise<void> {
    const place = this.#place();
    const document = this.#deps.records.containers.get(name)?.document;
    if (place === undefined || document === undefined) return;
    const wanted = this.#wantedOf(name, document);
    const registration = this.#registered.get(document.uuid);
    if (wanted !== undefined) await this.#register(place, wanted);
    else if (registration !== undefined) await this.#forget(place, document.uuid, registration.hostname);
    this.#problems.forget(document.uuid);
  }

  /** Like `follow`, for a change that stands whatever MAAS answers: logs the failure, and retries each minute. */
  async followLater(name: string): Promise<void> {
    await this.follow(name).catch((error: unknown) => this.#note(name, error));
  }

  /** A container has been deleted. */
  async released(name: string, uuid: string): Promise<void> {
    const place = this.#place();
    const registration = this.#registered.get(uuid);
    if (place === undefined || registration === undefined) return;
    await this.#forget(place, uuid, registration.hostname).catch((error: unknown) => this.#note(name, error, uuid));
  }

  /** At the start and each minute: sends MAAS all changes, also of profiles and of containers from elsewhere. Never throws. */
  look(): Promise<void> {
    return this.#locks.run(whole, () => this.#look());
  }

  async #look(): Promise<void> {
    const place = this.#place();
    if (place === undefined) return void this.#problems.forget(whole);
    const all = this.#deps.records.containers.list().flatMap(({ name, document }) => {
      const wanted = document.lifecycle === 'ready' ? this.#wantedOf(name, document) : undefined;
      return wanted === undefined ? [] : [{ name, wanted }];
    });
    const wantedNow = new Set([...all.map(({ wanted }) => wanted.uuid), ...this.#making]);
    try {
      await this.#sweepOnce(place, wantedNow);
      this.#problems.forget(whole);
    } catch (error) {
      this.#problems.note(whole, `MAAS cannot be asked for the addresses of this host: ${errorText(error)}`);
      return;
    }
    for (const { name, wanted } of all)
      if (this.#registered.get(wanted.uuid)?.wanted !== JSON.stringify(wanted)) await this.followLater(name);
    for (const [uuid, { hostname }] of this.#registered) {
      if (wantedNow.has(uuid) || this.#making.has(uuid)) continue;
      await this.#forget(place, uuid, hostname).catch((error: unknown) => this.#note(hostname, error, uuid));
    }
  }

  /** A killed daemon may have left devices of containers that were never recorded, or are deleted. */
  async #sweepOnce(
    place: RegistrationPlace & { readonly settings: string },
    wanted: ReadonlySet<string>,
  ): Promise<void> {
    if (this.#swept === place.settings) return;
    this.#registered.clear();
    await sweep(place, wanted);
    this.#swept = place.settings;
  }

  async #register(place: RegistrationPlace, wanted: WantedDevice): Promise<void> {
    const text = JSON.stringify(wanted);
    await this.#locks.run(wanted.uuid, async () => {
      if (this.#registered.get(wanted.uuid)?.wanted === text) return;
      // Until MAAS has all of it, it may have a part.
      this.#registered.set(wanted.uuid, { hostname: wanted.hostname, wanted: '' });
      await register(place, wanted);
      this.#registered.set(wanted.uuid, { hostname: wanted.hostname, wanted: text });
    });
  }

  async #forget(place: RegistrationPlace, uuid: string, hostname: string): Promise<void> {
    await this.#locks.run(uuid, async () => {
      await unregister(place, uuid, hostname);
      this.#registered.delete(uuid);
      this.#problems.forget(uuid);
    });
  }

  #note(name: string, error: unknown, uuid = this.#deps.records.containers.get(name)?.document.uuid): void {
    this.#problems.note(
      uuid ?? name,
      `MAAS has other addresses for the container ${plainName(name)}: ${errorText(error)}`,
    );
  }

  #place(): (RegistrationPlace & { readonly settings: string }) | undefined {
    const settings = this.#deps.maas();
    if (settings === undefined) return undefined;
    return {
      maas: new Maas(settings),
      machine: settings.machine,
      tag: this.#deps.tag,
      settings: JSON.stringify(settings),
    };
  }

  #wantedOf(name: string, document: ContainerDocument): WantedDevice | undefined {
    const { networks } = this.#deps.records;
    const expanded = expand(document, profilesOf(this.#deps.records, name));
    return wantedDevice(name, document, expanded, (network) => networks.get(network)?.document.config ?? {});
  }
}

/** Undefined: none of its nics, or their networks, is in a MAAS subnet. Pure. */
export function wantedDevice(
  name: string,
  { uuid }: Pick<ContainerDocument, 'uuid'>,
  { config, devices }: { readonly config: ConfigMap; readonly devices: DeviceMap },
  networkConfig: (network: string) => ConfigMap,
): WantedDevice | undefined {
  const interfaces = Object.entries(devices).flatMap(([device, properties]) => {
    if (!isNic(properties)) return [];
    const nic = resolveDevice(properties);
    const hwaddr = (nic['hwaddr'] || config[`volatile.${device}.hwaddr`] || '').toLowerCase();
    const subnets = (['ipv4', 'ipv6'] as const).flatMap((family) => {
      const key = `maas.subnet.${family}`;
      // The network of a nic says it where the nic does not.
      const subnet = nic[key] || networkConfig(nic['network'] ?? '')[key] || '';
      const address = nic[`${family}.address`] ?? '';
      return subnet === '' ? [] : [{ subnet, address: address === 'none' ? '' : address }];
    });
    if (subnets.length === 0 || hwaddr === '') return [];
    return [{ name: nic['name'] || config[`volatile.${device}.name`] || device, hwaddr, subnets }];
  });
  if (interfaces.length === 0) return undefined;
  const project = projectOf(name);
  return { uuid, hostname: plainName(name), subdomain: project === defaultProject ? '' : project, interfaces };
}
