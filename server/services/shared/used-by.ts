// The containers that use a network, a pool, a custom volume or a hardware address: an index over the records, updated on demand by their
// changes. Answers cost time in the number of users, not of containers.
import type { DeviceMap } from '../../api/schema/common-schemas.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import { attachedVolumes, devicePools, expand, nicNetworks } from './expand.ts';
import { projectOf } from '../../api/project/project-names.ts';
import { profileIn, profilesOf, volumeKeyIn } from './project-scope.ts';

/** What containers use: by name, a volume by `POOL/NAME`. */
export type UsedKind = 'network' | 'pool' | 'volume' | 'hwaddr';

type ContainerEntry = Entry<ContainerDocument>;

const indexes = new WeakMap<Records, DeviceUsers>();

/** The containers whose devices (profiles applied) name it, in order of name. */
export function containersWith(records: Records, kind: UsedKind, name: string): readonly ContainerEntry[] {
  let index = indexes.get(records);
  if (index === undefined) indexes.set(records, (index = new DeviceUsers(records)));
  return index.users(`${kind} ${name}`);
}

class DeviceUsers {
  readonly #records: Records;
  /** Names of containers by what they use. */
  readonly #users = new Map<string, Set<string>>();
  /** The reverse map. */
  readonly #uses = new Map<string, readonly string[]>();
  #containers = -1;
  #profiles = -1;

  constructor(records: Records) {
    this.#records = records;
  }

  users(use: string): readonly ContainerEntry[] {
    this.#update();
    const { containers } = this.#records;
    const names = this.#users.get(use);
    if (names === undefined) return [];
    if (names.size > containers.size / 8) return containers.list().filter((entry) => names.has(entry.name));
    return [...names].sort((a, b) => (a < b ? -1 : 1)).flatMap((name) => containers.get(name) ?? []);
  }

  #update(): void {
    const { containers, profiles } = this.#records;
    if (profiles.generation !== this.#profiles) {
      const changed = profiles.changedSince(this.#profiles);
      const isTouched = ({ name, document }: ContainerEntry): boolean =>
        changed === undefined ||
        document.profiles.some((profile) => changed.has(profileIn(this.#records, projectOf(name), profile)));
      for (const entry of containers.list()) if (isTouched(entry)) this.#note(entry.name);
      this.#profiles = profiles.generation;
    }
    if (containers.generation !== this.#containers) {
      const changed = containers.changedSince(this.#containers);
      for (const name of changed ?? new Set([...this.#uses.keys(), ...containers.list().map((entry) => entry.name)]))
        this.#note(name);
      this.#containers = containers.generation;
    }
  }

  #note(name: string): void {
    for (const use of this.#uses.get(name) ?? []) {
      const names = this.#users.get(use);
      names?.delete(name);
      if (names?.size === 0) this.#users.delete(use);
    }
    this.#uses.delete(name);
    const document = this.#records.containers.get(name)?.document;
    if (document === undefined) return;
    const uses = usesOf(name, document, this.#records);
    this.#uses.set(name, uses);
    for (const use of uses) {
      const names = this.#users.get(use);
      if (names === undefined) this.#users.set(use, new Set([name]));
      else names.add(name);
    }
  }
}

/** Keys of the custom volumes that the container's devices name. */
export function usedVolumes(records: Records, container: string): readonly string[] {
  const document = records.containers.get(container)?.document;
  if (document === undefined) return [];
  return volumesOf(records, container, expand(document, profilesOf(records, container)).devices);
}

const volumesOf = (records: Records, container: string, devices: DeviceMap): readonly string[] =>
  attachedVolumes(devices).map(({ pool, name }) => volumeKeyIn(records, projectOf(container), pool, name));

/** Pure but for profiles. */
export function usesOf(container: string, document: ContainerDocument, records: Records): readonly string[] {
  const { devices } = expand(document, profilesOf(records, container));
  const addresses = [
    ...Object.values(devices).flatMap((device) => device['hwaddr'] ?? []),
    ...Object.entries(document.config).flatMap(([key, value]) => (key.endsWith('.hwaddr') ? value : [])),
  ];
  return [
    ...new Set([
      ...nicNetworks(devices).map((name) => `network ${name}`),
      ...[document.pool, ...devicePools(devices)].map((name) => `pool ${name}`),
      ...volumesOf(records, container, devices).map((key) => `volume ${key}`),
      ...addresses.map((address) => `hwaddr ${address.toLowerCase()}`),
    ]),
  ];
}
