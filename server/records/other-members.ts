// The records of other members of a cluster. Documents are decoded when asked for: most never are.
import type { Rev } from '../store/store.ts';
import { decodeDocument } from './codec.ts';
import type { Documents, Kind } from './documents.ts';

export interface OtherEntry<T> {
  readonly name: string;
  readonly member: number;
  readonly document: T;
  readonly modRev: Rev;
}

class StoredRecord<K extends Kind> implements OtherEntry<Documents[K]> {
  readonly name: string;
  readonly member: number;
  readonly modRev: Rev;
  readonly #kind: K;
  #bytes: Uint8Array | undefined;
  #document: Documents[K] | undefined;

  constructor(kind: K, name: string, member: number, bytes: Uint8Array, modRev: Rev) {
    this.#kind = kind;
    this.name = name;
    this.member = member;
    this.modRev = modRev;
    this.#bytes = bytes;
  }

  get document(): Documents[K] {
    this.#document ??= decodeDocument(this.#kind, this.name, this.#bytes ?? new Uint8Array());
    this.#bytes = undefined;
    return this.#document;
  }
}

const none: ReadonlyMap<string, StoredRecord<Kind>> = new Map();

export class OtherMembers {
  /** Grows with every change of a kind: derived data may be cached until then. */
  readonly #generations = new Map<Kind, number>();
  readonly #byKind = new Map<Kind, Map<number, Map<string, StoredRecord<Kind>>>>();

  generation(kind: Kind): number {
    return this.#generations.get(kind) ?? 0;
  }

  /** The members that have a record of that name, lowest number first. */
  having<K extends Kind>(kind: K, name: string): readonly OtherEntry<Documents[K]>[] {
    const found: StoredRecord<Kind>[] = [];
    for (const entries of this.#byKind.get(kind)?.values() ?? []) {
      const entry = entries.get(name);
      if (entry !== undefined) found.push(entry);
    }
    return found.sort((a, b) => a.member - b.member) as unknown as OtherEntry<Documents[K]>[];
  }

  /** The entry of a kind whose names are unique in the cluster, or of the first member that has one. */
  get<K extends Kind>(kind: K, name: string): OtherEntry<Documents[K]> | undefined {
    return this.having(kind, name)[0];
  }

  of<K extends Kind>(kind: K, member: number): Iterable<OtherEntry<Documents[K]>> {
    return (this.#byKind.get(kind)?.get(member) ?? none).values() as Iterable<OtherEntry<Documents[K]>>;
  }

  /** Unordered. */
  *list<K extends Kind>(kind: K): Generator<OtherEntry<Documents[K]>, void, undefined> {
    for (const entries of this.#byKind.get(kind)?.values() ?? [])
      yield* entries.values() as Iterable<OtherEntry<Documents[K]>>;
  }

  /** Numbers of the members that have any record, lowest first. */
  members(): readonly number[] {
    const numbers = new Set([...this.#byKind.values()].flatMap((members) => [...members.keys()]));
    return [...numbers].sort((a, b) => a - b);
  }

  kinds(): readonly Kind[] {
    return [...this.#byKind.keys()];
  }

  count(kind: Kind, member: number): number {
    return this.#byKind.get(kind)?.get(member)?.size ?? 0;
  }

  /** Only for Contents. */
  put(kind: Kind, member: number, name: string, bytes: Uint8Array, modRev: Rev): void {
    let members = this.#byKind.get(kind);
    if (members === undefined) this.#byKind.set(kind, (members = new Map()));
    let entries = members.get(member);
    if (entries === undefined) members.set(member, (entries = new Map()));
    if ((entries.get(name)?.modRev ?? 0) >= modRev) return;
    entries.set(name, new StoredRecord(kind, name, member, bytes, modRev));
    this.#generations.set(kind, this.generation(kind) + 1);
  }

  /** Only for Contents. */
  delete(kind: Kind, member: number, name: string, modRev: Rev): void {
    const entries = this.#byKind.get(kind)?.get(member);
    if ((entries?.get(name)?.modRev ?? modRev) > modRev) return;
    if (entries?.delete(name) === true) this.#generations.set(kind, this.generation(kind) + 1);
  }

  /** Only for Contents. */
  clear(): void {
    for (const kind of this.#byKind.keys()) this.#generations.set(kind, this.generation(kind) + 1);
    this.#byKind.clear();
  }
}
