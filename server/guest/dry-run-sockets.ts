// The guest sockets of a dry-run daemon: directories that can be mounted, without listeners.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GuestSockets } from '../services/containers/guest-access.ts';
import type { Guest } from '../services/containers/guest-view.ts';

export class SilentGuestSockets implements GuestSockets {
  readonly #dir: string;

  constructor({ dir }: { readonly dir: string }) {
    this.#dir = dir;
  }

  dirOf({ uuid }: Guest): string {
    return join(this.#dir, uuid);
  }

  async open(guest: Guest): Promise<void> {
    await mkdir(this.dirOf(guest), { recursive: true });
  }

  async close(guest: Guest): Promise<void> {
    await rm(this.dirOf(guest), { recursive: true, force: true });
  }

  sweep(): Promise<void> {
    return Promise.resolve();
  }

  closeAll(): Promise<void> {
    return Promise.resolve();
  }
}
