// The guest sockets of all running containers: the path of each on the host, and its listener. guest-answers.ts makes the answers.
import { existsSync } from 'node:fs';
import { chmod, mkdir, open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { WebSocketServer } from 'ws';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import type { GuestSockets } from '../services/containers/guest-access.ts';
import type { Guest } from '../services/containers/guest-view.ts';
import { GuestEvents, type GuestEventsDeps } from './guest-events.ts';
import { freeName, mountSmall, openToAll, removePlace } from './socket-mount.ts';
import { GuestListener, type GuestListenerDeps } from './guest-listener.ts';

export type GuestSocketsDeps = Omit<GuestListenerDeps, 'events' | 'websockets'> &
  Omit<GuestEventsDeps, 'events'> & {
    readonly hub: GuestEventsDeps['events'];
    /** One directory per running container; only the host's root can traverse it. */
    readonly dir: string;
    /** Containers are real: directories of privileged ones are separate file systems. */
    readonly ownFileSystems: boolean;
  };

interface Open {
  readonly listener: GuestListener;
  /** The handle of the directory, if the socket is bound through its descriptor. */
  readonly handle: FileHandle | undefined;
}

/** The kernel's limit for socket paths. */
const longestPath = 107;

export class GuestSocketServer implements GuestSockets {
  readonly #dir: string;
  readonly #ownFileSystems: boolean;
  readonly #deps: GuestListenerDeps;
  readonly #mutex = new KeyedMutex();
  /** By uuid. */
  readonly #open = new Map<string, Open>();
  /** Guests send nothing on it. */
  readonly #websockets = new WebSocketServer({ noServer: true, maxPayload: 4096, perMessageDeflate: false });

  constructor({ dir, hub, clock, ownFileSystems, ...deps }: GuestSocketsDeps) {
    this.#dir = dir;
    this.#ownFileSystems = ownFileSystems;
    const events = new GuestEvents({ events: hub, view: deps.view, clock });
    this.#deps = { ...deps, events, websockets: this.#websockets };
  }

  dirOf({ uuid }: Guest): string {
    return join(this.#dir, uuid);
  }

  async open(guest: Guest, { isolated }: { readonly isolated: boolean }): Promise<void> {
    await this.#mutex.run(guest.uuid, async () => {
      if (this.#open.has(guest.uuid)) return;
      await mkdir(this.#dir, { recursive: true, mode: 0o700 });
      // A recursive mkdir of Node reports a full disk as a missing directory.
      if (!existsSync(this.dirOf(guest))) await mkdir(this.dirOf(guest));
      if (isolated && this.#ownFileSystems) await mountSmall(this.dirOf(guest));
      // For the container's root, which has another id on the host.
      await chmod(this.dirOf(guest), 0o755);
      await freeName(join(this.dirOf(guest), 'sock'));
      this.#open.set(guest.uuid, await this.#listen(guest));
    });
  }

  async #listen(guest: Guest): Promise<Open> {
    const path = join(this.dirOf(guest), 'sock');
    const listener = new GuestListener(this.#deps, guest);
    const isLong = Buffer.byteLength(path) > longestPath;
    const handle = isLong ? await open(this.dirOf(guest)) : undefined;
    try {
      await listener.listen(handle === undefined ? path : `/proc/self/fd/${handle.fd}/sock`);
      await openToAll(path);
      return { listener, handle };
    } catch (error) {
      await listener.close().catch(() => {});
      await handle?.close();
      throw new Error(`The guest socket ${path} cannot be made`, { cause: error });
    }
  }

  async close(guest: Guest): Promise<void> {
    await this.#mutex.run(guest.uuid, async () => {
      await this.#end(guest.uuid);
      await removePlace(this.dirOf(guest));
    });
  }

  async sweep(): Promise<void> {
    const found = await readdir(this.#dir).catch(() => []);
    for (const uuid of found) {
      await this.#mutex.run(uuid, async () => {
        if (!this.#open.has(uuid)) await removePlace(join(this.#dir, uuid));
      });
    }
  }

  /** Directories stay: they are mounted in running containers. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((uuid) => this.#mutex.run(uuid, () => this.#end(uuid))));
    this.#websockets.close();
  }

  async #end(uuid: string): Promise<void> {
    const found = this.#open.get(uuid);
    if (found === undefined) return;
    this.#open.delete(uuid);
    await found.listener.close();
    await found.handle?.close();
  }
}
