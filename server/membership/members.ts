// The members of the cluster as this one sees them: their records, who is there, and what their containers do.
import { type StatusCode, statusCodes } from '../api/status.ts';
import type { MemberDocument } from '../records/cluster-documents.ts';
import type { Records } from '../records/records.ts';
import {
  containerOfStatusKey,
  decodePresent,
  decodeStatus,
  memberOfPresentKey,
  type PresentSignal,
} from './signals.ts';

/** Broken: its release is too old for the others. Blocked: it is newer than others and waits for them. Unknown: this member cannot tell. */
export type MemberStatus = 'Online' | 'Unknown' | 'Offline' | 'Evacuated' | 'Blocked' | 'Broken';

export interface Member {
  readonly name: string;
  readonly number: number;
  readonly address: string;
  readonly document: MemberDocument;
  readonly isHere: boolean;
  /** It holds its lease, so it can be asked. */
  readonly isPresent: boolean;
  /** The store has been silent for so long that the member may have stopped since. */
  readonly isUnknown: boolean;
  readonly present: PresentSignal | undefined;
  readonly containers: number;
}

/** The `location` of objects on hosts without a cluster. */
export const noMember = 'none';

export class Members {
  readonly #records: Records;
  readonly #present = new Map<number, PresentSignal | undefined>();
  readonly #statuses = new Map<number, Map<string, StatusCode>>();
  readonly #isCutOff: () => boolean;
  #byNumber: { readonly generation: number; readonly names: ReadonlyMap<number, string> } | undefined;
  readonly #onPresence = new Set<(member: number, isPresent: boolean) => void>();

  constructor(records: Records, isCutOff = (): boolean => false) {
    this.#records = records;
    this.#isCutOff = isCutOff;
    for (const { key, value } of records.contents.signals('/signals/')) this.#signal(key, value);
    records.contents.onSignal((key, value) => this.#signal(key, value));
  }

  get isOn(): boolean {
    return this.#records.member !== undefined;
  }

  /** The number of this host; 0 outside a cluster. */
  get here(): number {
    return this.#records.member ?? 0;
  }

  get ownName(): string {
    return this.isOn ? this.nameOf(this.here) : noMember;
  }

  /** Notifies the listener when a member comes or goes. */
  onPresence(listener: (member: number, isPresent: boolean) => void): () => void {
    this.#onPresence.add(listener);
    return () => this.#onPresence.delete(listener);
  }

  nameOf(number: number): string {
    const { generation } = this.#records.members;
    if (this.#byNumber?.generation !== generation) {
      const names = this.#records.members.list().map(({ name, document }) => [document.number, name] as const);
      this.#byNumber = { generation, names: new Map(names) };
    }
    return this.#byNumber.names.get(number) ?? `member ${number}`;
  }

  /** In order of name. */
  list(): readonly Member[] {
    return this.#records.members.list().map(({ name, document }) => this.#member(name, document));
  }

  get(name: string): Member | undefined {
    const document = this.#records.members.get(name)?.document;
    return document === undefined ? undefined : this.#member(name, document);
  }

  byNumber(number: number): Member | undefined {
    return this.get(this.nameOf(number));
  }

  /** The other members that can be asked. */
  reachable(): readonly Member[] {
    return this.list().filter((member) => !member.isHere && member.isPresent);
  }

  isPresent(number: number): boolean {
    return number === this.here || this.#present.has(number);
  }

  /** The status of another member's container; Error while that member is, or may be, gone. */
  statusOf(member: number, container: string): StatusCode {
    if (!this.#present.has(member) || this.#isCutOff()) return statusCodes.error;
    return this.#statuses.get(member)?.get(container) ?? statusCodes.stopped;
  }

  #member(name: string, document: MemberDocument): Member {
    const { number, address } = document;
    const isHere = number === this.here;
    return {
      name,
      number,
      address,
      document,
      isHere,
      isPresent: this.isPresent(number),
      isUnknown: !isHere && this.#isCutOff(),
      present: this.#present.get(number),
      containers: isHere ? this.#records.containers.size : this.#records.others.count('containers', number),
    };
  }

  #signal(key: string, value: Uint8Array | undefined): void {
    const member = memberOfPresentKey(key);
    if (member !== undefined) return this.#see(member, value);
    const container = containerOfStatusKey(key);
    if (container === undefined) return;
    let statuses = this.#statuses.get(container.member);
    if (statuses === undefined) this.#statuses.set(container.member, (statuses = new Map()));
    if (value === undefined) statuses.delete(container.container);
    else statuses.set(container.container, decodeStatus(value));
  }

  #see(member: number, value: Uint8Array | undefined): void {
    const was = this.#present.has(member);
    if (value === undefined) this.#present.delete(member);
    else this.#present.set(member, decodePresent(value));
    if (was === (value !== undefined)) return;
    for (const listener of this.#onPresence) listener(member, value !== undefined);
  }
}
