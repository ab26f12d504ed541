// Gives running containers their guest socket and takes it away: at start and stop, when security.devlxd changes, and again after
// a restart of the daemon. What is answered there is guest-view.ts.
import type { ServiceParts } from '../shared/service-parts.ts';
import { isTrue } from '../../api/container/container-config.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { MountRun, RuntimeDriver } from '../../drivers/runtime/driver.ts';
import { ownMount } from '../../drivers/device-parts.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Guest } from './guest-view.ts';
import type { ContainerEntry, ContainerView } from '../shared/container-view.ts';

/** Listens for guests: in a directory for each container, so that the directory, not the guest, identifies the container. */
export interface GuestSockets {
  /** Directory of the host that holds the socket, shown in the container. Named after the uuid: it outlives renames. */
  dirOf(guest: Guest): string;
  /** Makes the directory and listens in it. Idempotent. `isolated`: the directory is a small file system of its own, since this guest
   *  may be able to write there whatever flags its mount has. To be asked for while no container shows the directory. */
  open(guest: Guest, options: { readonly isolated: boolean }): Promise<void>;
  /** Ends all connections and removes the directory. Idempotent. */
  close(guest: Guest): Promise<void>;
  /** Removes what earlier daemons left of containers that have none open. */
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

  /** What the start of this container is to mount for it. */
  mounts(entry: ContainerEntry): readonly MountRun[] {
    return isWanted(this.#deps.view.expanded(entry).config) ? [this.#mountOf(guestOf(entry))] : [];
  }

  /** Its socket is there before its init runs, and gone again when the start fails. */
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

  /** Brings security.devlxd into force if the container runs. */
  async apply(name: string): Promise<void> {
    await this.#mutex.run(name, async () => {
      const { records, runtime, view } = this.#deps;
      const entry = records.containers.get(name);
      const { live } = runtime;
      const isOn = runtime.probe(name).status !== 'stopped';
      if (entry === undefined || live === undefined || !isOn) return;
      if (live.plugged(name) === undefined) {
        // What it shows is not known, and cannot be changed: it may be the socket of its start.
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

  /** At daemon start: the directories are still shown in the containers that run; this daemon listens in them again. */
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

  /** `isUnseen`: the directory is not in the container yet. */
  async #listen(entry: ContainerEntry, isUnseen: boolean): Promise<void> {
    const guest = guestOf(entry);
    // Root of such a container is root of the kernel, and can make a read-only mount writable.
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

  /** Read-only: what a guest could write there would be on the host's disk. A socket takes connections all the same. */
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
