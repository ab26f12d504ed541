// The facts about itself that a container may read through its guest socket, and their changes. Reads only.
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import { isTrue } from '../../api/container/container-config.ts';
import { errors, mustFind } from '../../api/errors.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { imageIn } from '../shared/project-scope.ts';
import type { ImagePart, ImageStore } from '../images/image-store.ts';
import type { Records } from '../../records/records.ts';
import { instanceIdKey } from './shared/instance-id.ts';
import type { ContainerEntry, ContainerView } from '../shared/container-view.ts';

/** A container's identity at its socket: constant while it runs. */
export interface Guest {
  readonly uuid: string;
  readonly name: string;
}

export interface GuestFacts {
  /** Only keys that guests may see, with profiles applied. */
  readonly config: ConfigMap;
  readonly devices: DeviceMap;
}

/** real-world.md section 18. */
export type GuestEvent =
  | { readonly type: 'config'; readonly metadata: { key: string; old_value: string; value: string } }
  | {
      readonly type: 'device';
      readonly metadata: { name: string; action: 'added' | 'removed' | 'updated'; config: ConfigMap };
    };

export const guestEventTypes = ['config', 'device'] as const satisfies readonly GuestEvent['type'][];

const isVisible = (key: string): boolean => key.startsWith('user.') || key.startsWith('cloud-init.');

interface GuestViewDeps {
  readonly records: Records;
  readonly view: ContainerView;
  readonly images: Pick<ImageStore, 'parts'>;
}

export class GuestView {
  readonly #deps: GuestViewDeps;

  constructor(deps: GuestViewDeps) {
    this.#deps = deps;
  }

  /** Throws notFound if the container is gone. */
  facts(guest: Guest): GuestFacts {
    const { config, devices } = this.#expanded(guest);
    return { config: Object.fromEntries(Object.entries(config).filter(([key]) => isVisible(key))), devices };
  }

  /** Throws forbidden for keys not meant for guests, notFound for an unset key. */
  value(guest: Guest, key: string): string {
    if (!isVisible(key)) throw errors.forbidden(`The key ${key} is not for guests: only user.* and cloud-init.* are`);
    const { config } = this.#expanded(guest);
    return mustFind(Object.hasOwn(config, key) ? config[key] : undefined, 'key', key);
  }

  /** What cloud-init reads first: the machine's identity, and the user's additions. */
  metaData(guest: Guest): string {
    const { config } = this.#expanded(guest);
    const added = config['user.meta-data'] ?? '';
    const name = yamlScalar(plainName(guest.name));
    return `#cloud-config\ninstance-id: ${config[instanceIdKey] ?? name}\nlocal-hostname: ${name}\n${added}`;
  }

  /** Only by its whole fingerprint; a private image only if the host fetched it for its own use. */
  async image(guest: Guest, fingerprint: string): Promise<readonly ImagePart[]> {
    if (!isTrue(this.#expanded(guest).config['security.devlxd.images'] ?? '')) {
      throw errors.forbidden('Images are not handed out to this container: security.devlxd.images is not set');
    }
    const name = imageIn(this.#deps.records, projectOf(guest.name), fingerprint);
    const image = this.#deps.records.images.get(name)?.document;
    if (image?.lifecycle !== 'ready' || !(image.public || image.cached)) throw errors.notFound('image', fingerprint);
    return this.#deps.images.parts(name);
  }

  #expanded(guest: Guest): { readonly config: ConfigMap; readonly devices: DeviceMap } {
    return this.#deps.view.expanded(this.#entry(guest));
  }

  #entry({ name, uuid }: Guest): ContainerEntry {
    const entry = this.#deps.records.containers.get(name);
    // Another container may have taken the name since.
    if (entry?.document.uuid !== uuid) throw errors.notFound('container', name);
    return entry;
  }
}

/** In order of key, then of device. Pure. */
export function guestChanges(before: GuestFacts, after: GuestFacts): readonly GuestEvent[] {
  const config = keysOf(before.config, after.config).flatMap((key): readonly GuestEvent[] => {
    const [old, value] = [before.config[key] ?? '', after.config[key] ?? ''];
    return old === value ? [] : [{ type: 'config', metadata: { key, old_value: old, value } }];
  });
  const devices = keysOf(before.devices, after.devices).flatMap((name): readonly GuestEvent[] => {
    const [old, now] = [before.devices[name], after.devices[name]];
    if (old !== undefined && now !== undefined && isSame(old, now)) return [];
    const action = old === undefined ? 'added' : now === undefined ? 'removed' : 'updated';
    return [{ type: 'device', metadata: { name, action, config: now ?? old ?? {} } }];
  });
  return [...config, ...devices];
}

const keysOf = (a: object, b: object): readonly string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted();

const isSame = (a: ConfigMap, b: ConfigMap): boolean => keysOf(a, b).every((key) => a[key] === b[key]);

/** YAML would read names such as `1`, `true` or `#x` as something else than text. */
const yamlScalar = (text: string): string =>
  /^[A-Za-z][A-Za-z0-9.-]*$/.test(text) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
    ? text
    : JSON.stringify(text);
