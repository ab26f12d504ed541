// Caches the lists of a server between observations, so that one changed object costs one read instead of all lists of a big host.
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Client } from '../../../server/client/client.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import { addressParts, type Address } from '../../core/documents/document.ts';
import type { LifecycleChange } from '../../core/drift/lifecycle-changes.ts';

type Lists = Pick<Client, 'list' | 'get'>;

const inPlace = /-(updated|started|stopped|shutdown|paused|resumed|restarted|file-pushed|file-deleted)$/;
const readOne: readonly string[] = ['container', 'profile', 'network', 'storage_pool'] satisfies KindName[];
const maxReads = 16;

export class CachedLists {
  readonly #client: Lists;
  readonly #kept = new Map<KindName, Promise<readonly object[]>>();

  constructor(client: Lists) {
    this.#client = client;
  }

  readonly list: Client['list'] = (kind, signal) => {
    const kept = this.#kept.get(kind);
    if (kept !== undefined) return kept as ReturnType<typeof this.list<typeof kind>>;
    const read = this.#client.list(kind, signal);
    this.#keep(kind, read);
    return read;
  };

  #keep(kind: KindName, read: Promise<readonly object[]>): void {
    this.#kept.set(kind, read);
    // A failed list is read again.
    read.catch(() => {
      if (this.#kept.get(kind) === read) this.#kept.delete(kind);
    });
  }

  forget(): void {
    this.#kept.clear();
  }

  /** Reads the named objects again. A created, deleted or renamed object may be in several lists, so then it reads all lists. */
  async refresh(seen: readonly LifecycleChange[], signal: AbortSignal): Promise<void> {
    const addresses = new Set(seen.map(({ address }) => address));
    const isSmall = addresses.size <= maxReads && seen.every((one) => inPlace.test(one.action) && isPlain(one.address));
    if (!isSmall) this.forget();
    else await Promise.all([...addresses].map((address) => this.#refreshOne(address, signal)));
  }

  async #refreshOne(address: Address, signal: AbortSignal): Promise<void> {
    const { kind, name } = addressParts(address);
    const kept = this.#kept.get(kind);
    if (kept === undefined) return;
    const read = Promise.all([
      kept,
      this.#client.get(kind, name, signal).then(
        ({ metadata }) => [metadata],
        (error: unknown) => {
          if (isNotFound(error)) return [];
          throw error;
        },
      ),
    ]).then(([objects, found]) => [
      ...objects.filter((object) => (object as { readonly name?: string }).name !== name),
      ...found,
    ]);
    // Kept before it is read: other objects of the burst are replaced in it.
    this.#keep(kind, read);
    await read;
  }
}

/** True for an object of the connection's own project and of a kind that can be read by name. */
const isPlain = (address: Address): boolean => !address.includes('@') && readOne.includes(addressParts(address).kind);
