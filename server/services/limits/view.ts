// The records with transactions that are not written yet.
import type { Documents, Kind } from '../../records/documents.ts';
import type { OtherMembers } from '../../records/other-members.ts';
import type { Changes, Collection, Records } from '../../records/records.ts';

export interface RecordPart {
  get<K extends Kind>(kind: K, name: string): Documents[K] | undefined;
  list<K extends Kind>(kind: K): readonly { readonly name: string; readonly document: Documents[K] }[];
}

export class RecordView implements RecordPart {
  readonly #records: Records;
  /** Undefined: the record is deleted. */
  readonly #changed = new Map<Kind, Map<string, unknown>>();
  readonly #brought: Changes['brought'];

  /** Only the puts of `others` count: a deletion may still fail. */
  constructor(records: Records, others: readonly Changes[], own?: Changes) {
    this.#records = records;
    for (const { puts } of others) for (const { kind, name, document } of puts) this.#set(kind, name, document);
    this.#brought = own?.brought ?? [];
    for (const { kind, name } of own?.deletions ?? []) this.#set(kind, name, undefined);
    for (const { kind, name, document } of own?.puts ?? []) this.#set(kind, name, document);
  }

  get<K extends Kind>(kind: K, name: string): Documents[K] | undefined {
    const changed = this.#changed.get(kind);
    if (changed?.has(name) === true) return changed.get(name) as Documents[K] | undefined;
    return (this.#records[kind] as unknown as Collection<K>).get(name)?.document;
  }

  list<K extends Kind>(kind: K): readonly { readonly name: string; readonly document: Documents[K] }[] {
    const list = (this.#records[kind] as unknown as Collection<K>).list();
    const changed = this.#changed.get(kind);
    if (changed === undefined) return list;
    const added = [...changed].flatMap(([name, document]) =>
      document === undefined ? [] : [{ name, document: document as Documents[K] }],
    );
    return [...list.filter(({ name }) => !changed.has(name)), ...added];
  }

  /** This member's part, with unwritten changes, and those of the other members. */
  parts(): readonly RecordPart[] {
    const { others } = this.#records;
    return [this, ...others.members().map((member) => new MemberPart(others, member, this.#brought))];
  }

  #set(kind: Kind, name: string, document: unknown): void {
    const changed = this.#changed.get(kind) ?? new Map<string, unknown>();
    this.#changed.set(kind, changed.set(name, document));
  }
}

/** Omits objects that this member takes over. Decodes documents on demand. */
class MemberPart implements RecordPart {
  readonly #others: OtherMembers;
  readonly #member: number;
  readonly #brought: Changes['brought'];

  constructor(others: OtherMembers, member: number, brought: Changes['brought']) {
    this.#others = others;
    this.#member = member;
    this.#brought = brought.filter((one) => one.member === member);
  }

  get<K extends Kind>(kind: K, name: string): Documents[K] | undefined {
    if (this.#isBrought(kind, name)) return undefined;
    return this.#others.having(kind, name).find(({ member }) => member === this.#member)?.document;
  }

  list<K extends Kind>(kind: K): readonly { readonly name: string; readonly document: Documents[K] }[] {
    const all = [...this.#others.of(kind, this.#member)];
    return this.#brought.length === 0 ? all : all.filter(({ name }) => !this.#isBrought(kind, name));
  }

  #isBrought(kind: Kind, name: string): boolean {
    return this.#brought.some((one) => one.kind === kind && one.name === name);
  }
}
