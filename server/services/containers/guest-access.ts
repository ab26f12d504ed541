// Gives running containers their guest socket and removes it: at start and stop, when security.devlxd changes, and after a daemon restart.
// guest-view.ts answers there.
import type { ServiceParts } from '../shared/service-parts.ts';
import { isTrue } from '../../api/container/container-config.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { MountRun, RuntimeDriver } from '../../drivers/runtime/driver.ts';
import { ownMount } from '../../drivers/device-parts.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Guest } from './guest-view.ts';
import type { ContainerEntry, ContainerView } from '../shared/container-view.ts';

/** Listens for guests: in a directory per container, so that the directory, not the guest, identifies the container. */
export interface GuestSockets {
  /** Host directory of the socket, mounted in the container. Named after the uuid: it outlives renames. */
  dirOf(guest: Guest): string;
  /** Makes the directory and listens in it. Idempotent. `isolated`: the directory is a small file system of its own, since this guest may
   *  be able to write there despite its mount flags. Only while no container mounts the directory. */
  open(guest: Guest, options: { readonly isolated: boolean }): Promise<void>;
  /** Ends all connections and removes the directory. Idempotent. */
  close(guest: Guest): Promise<void>;
  /** Removes directories that earlier daemons left, of containers without an open one. */
  sweep(): Promise<void>;
}

/** Where guests look for `sock`. */
export const guestDir = '/dev/lxd';

export interface GuestAccessDeps extends Pick<ServiceParts, 'records' | 'log'> {
  readonly view: ContainerView;
  readonly runtime: Pick<RuntimeDriver, 'probe' | 'live' | 'onExit'>;
  readonly sockets: GuestSockets;
}

const isWanted = (config: ConfigMap): boolean => isTrue(config['security.devlxd'] || 'true');
const guestOf = ({ name, document }: ContainerEntry): Guest => ({ name, uuid: document.uuid });

export class GuestAccess {
  readonly #deps: GuestAccessDeps;
  readonly #mutex = new KeyedMutex();
  readonly #open = new Map<string, Guest>();
  readonly #stopListening: () => void;

  constructor(deps: GuestAccessDeps) {
    this.#deps = deps;
    this.#stopListening = deps.runtime.onExit(({ name, target }) => {
      if (target === 'stop') void this.#ended(name);
    });
  }

  mounts(entry: ContainerEntry): readonly MountRun[] {
    return isWanted(this.#deps.view.expanded(entry).config) ? [this.#mountOf(guestOf(entry))] : [];
  }

  /** Its socket exists before its init runs, and is removed if the start fails. */
  async whileStarting<T>(entry: ContainerEntry, start: () => Promise<T>): Promise<T> {
    if (!isWanted(this.#deps.view.expanded(entry).config)) return start();
    await this.#mutex.run(entry.name, () => this.#listen(entry, true));
    try {
      return await start();
    } catch (error) {
      if (this.#deps.runtime.probe(entry.name).status === 'stopped') await this.#ended(entry.name);
      throw error;
    }
  }

  async apply(name: string): Promise<void> {
    await this.#mutex.run(name, async () => {
      const { records, runtime, view } = this.#deps;
      const entry = records.containers.get(name);
      const { live } = runtime;
      const isOn = runtime.probe(name).status !== 'stopped';
      if (entry === undefined || live === undefined || !isOn) return;
      if (live.plugged(name) === undefined) {
        // Its mount is unknown and cannot be changed: it may show the socket from its start.
        if (isWanted(view.expanded(entry).config)) await this.#listen(entry, false);
        return;
      }
      const isShown = live.shown(name).includes(guestDir);
      if (isWanted(view.expanded(entry).config)) {
        await this.#listen(entry, !isShown);
        if (!isShown) await live.show(name, this.#mountOf(guestOf(entry)));
        return;
      }
      if (isShown) await live.hide(name, guestDir);
      await this.#close(name);
    });
  }

  /** Call at daemon start: running containers still mount the directories; this daemon listens in them again. */
  async resume(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.apply(name).catch((error: unknown) => {
        this.#deps.log.error(`The guest socket of ${name} cannot be opened again: ${errorText(error)}`);
      });
    }
    await this.#deps.sockets.sweep().catch((error: unknown) => {
      this.#deps.log.warn(`Left-over guest sockets cannot be removed: ${errorText(error)}`);
    });
  }

  detach(): void {
    this.#stopListening();
  }

  /** `isUnseen`: the container does not mount the directory yet. */
  async #listen(entry: ContainerEntry, isUnseen: boolean): Promise<void> {
    const guest = guestOf(entry);
    // Such a container's root is the kernel's root, and can remount a read-only mount writable.
    const isPrivileged = isTrue(this.#deps.view.expanded(entry).config['security.privileged'] ?? '');
    await this.#deps.sockets.open(guest, { isolated: isUnseen && isPrivileged });
    this.#open.set(guest.name, guest);
  }

  async #close(name: string): Promise<void> {
    const guest = this.#open.get(name);
    if (guest === undefined) return;
    this.#open.delete(name);
    await this.#deps.sockets.close(guest);
  }

  async #ended(name: string): Promise<void> {
    await this.#mutex
      .run(name, async () => {
        if (this.#deps.runtime.probe(name).status === 'stopped') await this.#close(name);
      })
      .catch((error: unknown) => {
        this.#deps.log.warn(`Closing the guest socket of ${name} failed: ${errorText(error)}`);
      });
  }

  /** Read-only: a guest's writes would fill the host's disk. Sockets accept connections nevertheless. */
  #mountOf(guest: Guest): MountRun {
    return {
      device: ownMount,
      source: this.#deps.sockets.dirOf(guest),
      target: guestDir,
      kind: 'dir',
      readonly: true,
      optional: false,
      recursive: false,
    };
  }
}
