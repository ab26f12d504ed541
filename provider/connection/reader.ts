// Batches reads: reads a few objects one by one, and the whole list at once when many are requested together.
import type { Container, ContainerState } from '../../server/api/container/container.ts';
import { isUnread } from '../../server/api/container/unread.ts';
import type { Client } from '../../server/client/client.ts';
import { isNotFound } from '../../server/client/client-error.ts';
import { kinds, nameOfObject, type KindName } from '../../server/api/kinds.ts';
import type { KindTypes } from '../../server/api/kind-schemas.ts';
import { needed } from './entry-or-create.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface Seen<T> {
  readonly object: T;
  /** Only when the object was read alone. */
  readonly etag?: string;
}

/** A container, and its state while it runs. */
export type SeenContainer = Container & { readonly state?: ContainerState | null };

export interface ReadTypes extends Omit<{ readonly [K in KindName]: KindTypes[K]['object'] }, 'container'> {
  readonly container: SeenContainer;
}

interface Waiting {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly resolve: (seen: Seen<unknown> | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface KindState {
  readonly waiting: Waiting[];
  /** Number of objects read one by one. */
  single: number;
  list: Promise<ReadonlyMap<string, unknown>> | undefined;
}

/** After this many reads, concurrent or not, a list is cheaper: on a busy machine only a few reads arrive at a time. */
const listFrom = 4;
/** How long to wait for further reads. */
const gatherMs = 3;

export class ObjectReader {
  readonly #client: Client;
  readonly #kinds = new Map<KindName, KindState>();
  /** After the first write every read is a new request. */
  #hasWritten = false;

  constructor(client: Client) {
    this.#client = client;
  }

  written(): void {
    this.#hasWritten = true;
  }

  /** Undefined when no object has that name. */
  read<K extends KindName>(kind: K, name: string, signal: AbortSignal): Promise<Seen<ReadTypes[K]> | undefined> {
    if (this.#hasWritten) return this.#readOne(kind, name, signal) as Promise<Seen<ReadTypes[K]> | undefined>;
    const state = needed(this.#kinds, kind, () => ({ waiting: [], single: 0, list: undefined }));
    const { list } = state;
    if (list !== undefined) return this.#readFrom(list, kind, name, signal) as Promise<Seen<ReadTypes[K]> | undefined>;
    return new Promise((resolve, reject) => {
      state.waiting.push({ name, signal, resolve: resolve as Waiting['resolve'], reject });
      if (state.waiting.length === 1) setTimeout(() => this.#flush(kind, state), gatherMs);
    });
  }

  #flush(kind: KindName, state: KindState): void {
    const waiting = state.waiting.splice(0, state.waiting.length);
    if (state.single + waiting.length < listFrom) {
      state.single += waiting.length;
      for (const { name, signal, resolve, reject } of waiting) this.#readOne(kind, name, signal).then(resolve, reject);
      return;
    }
    const list = this.#readAll(kind);
    state.list = list;
    list.catch(() => (state.list = undefined));
    for (const { name, signal, resolve, reject } of waiting)
      this.#readFrom(list, kind, name, signal).then(resolve, reject);
  }

  /**
   * An object that is not in a list may exist: lists leave out what the caller may not see, and what a failing member of a cluster has. Only
   * a request for it tells. It also fails for the container of an offline member, which LXD lists without any values.
   */
  async #readFrom(
    list: Promise<ReadonlyMap<string, unknown>>,
    kind: KindName,
    name: string,
    signal: AbortSignal,
  ): Promise<Seen<unknown> | undefined> {
    const object = (await list).get(name);
    const isWhole = object !== undefined && !(kind === 'container' && isUnread(object as Container));
    return isWhole ? { object } : this.#readOne(kind, name, signal);
  }

  async #readOne(kind: KindName, name: string, signal: AbortSignal): Promise<Seen<unknown> | undefined> {
    try {
      const { metadata, etag } = await this.#client.get(kind, name, signal);
      const object = kind === 'container' ? await this.#withState(metadata as Container, signal) : metadata;
      return { object, ...withoutUndefined({ etag }) };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** A stopped container has no addresses. */
  async #withState(container: Container, signal: AbortSignal): Promise<SeenContainer> {
    if (container.status !== 'Running') return container;
    return { ...container, state: (await this.#client.containerState(container.name, signal)).metadata };
  }

  /** Ignores the time limit of the first caller, since others share the result. A long list may take long, but must not stall. */
  async #readAll(kind: KindName): Promise<ReadonlyMap<string, unknown>> {
    const recursion = kind === 'container' ? 2 : 1;
    const call = { method: 'GET', path: kinds[kind].collection, query: { recursion }, timeoutMs: 600_000 } as const;
    const { metadata } = await this.#client.http.send<readonly Readonly<Record<string, string>>[] | null>(call);
    return new Map((metadata ?? []).map((object) => [nameOfObject(kind, object), object]));
  }
}
