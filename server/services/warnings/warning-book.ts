// Stores warnings of this member: the first sighting of a cause at once, later ones within a minute together. Sightings that the store
// cannot take yet stay in memory.
import { isWithin } from '../../lib/clock.ts';
import type { ServiceParts } from '../shared/service-parts.ts';
import { randomUUID } from 'node:crypto';
import { warningTypes, type WarningType } from '../../api/server/warning-types.ts';
import { pause } from '../../lib/shared/deadline.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { WarningDocument } from '../../records/documents.ts';
import type { Changes, Entry } from '../../records/records.ts';
import {
  clipped,
  identityOf,
  isExpired,
  joined,
  maxWarnings,
  nextWarning,
  nowOver,
  seenAgain,
  type Sighting,
  surplus,
  type WarningEntity,
} from './next-warning.ts';
import { presentEntity } from './warned-objects.ts';
import type { WarningSink } from './warning-sink.ts';

export interface WarningBookDeps extends Pick<ServiceParts, 'records' | 'clock' | 'log'> {
  /** False: the store is full at the moment. */
  readonly canWrite: () => boolean;
}

/** A cause found by a regular check. */
export interface FoundState {
  readonly type: WarningType;
  readonly message: string;
  readonly entity?: WarningEntity;
}

export type KnownWarning = Pick<Entry<WarningDocument>, 'name' | 'document'>;

const minuteMs = 60_000;
/** Max warnings in one transaction. */
const atOnce = 50;
/** How long shutdown waits for the store to take the last warnings. */
const longestCloseMs = 2_000;

const keyOf = (type: WarningType, entity: WarningEntity | undefined): string =>
  identityOf(warningTypes[type].text, entity);

export class WarningBook implements WarningSink {
  readonly #deps: WarningBookDeps;
  /** By identity, like the other maps. */
  readonly #pending = new Map<string, Sighting>();
  /** Sightings being written to the store. */
  readonly #flying = new Map<string, Sighting>();
  readonly #writtenAtMs = new Map<string, number>();
  #known: { readonly generation: number; readonly byKey: ReadonlyMap<string, KnownWarning> } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isSoon = false;

  constructor(deps: WarningBookDeps) {
    this.#deps = deps;
  }

  seen(type: WarningType, message: string, entity?: WarningEntity): void {
    const at = this.#deps.clock.timestamp();
    const of = entity === undefined ? {} : { entity };
    this.#note(keyOf(type, entity), (before) => seenAgain(before, { type, message, at, uuid: randomUUID(), ...of }));
  }

  over(type: WarningType, entity?: WarningEntity): void {
    const key = keyOf(type, entity);
    const status = this.#byKey().get(key)?.document.status ?? 'resolved';
    if (this.#unwritten(key) === undefined && status === 'resolved') return;
    const at = this.#deps.clock.timestamp();
    const of = entity === undefined ? {} : { entity };
    this.#note(key, (before) => nowOver(before, { type, at, uuid: randomUUID(), ...of }));
  }

  /** Updates the checked causes: found ones count once as long as nothing changes; others of these types are over. */
  updateStates(types: readonly WarningType[], found: readonly FoundState[]): void {
    const there = new Set<string>();
    for (const { type, message, entity } of found) {
      const key = keyOf(type, entity);
      there.add(key);
      if (!this.#isOpenAs(key, message)) this.seen(type, message, entity);
    }
    for (const type of types)
      for (const entity of this.#openOf(type)) if (!there.has(keyOf(type, entity))) this.over(type, entity);
  }

  isOpen(type: WarningType, entity: WarningEntity): boolean {
    return this.#isOpenAs(keyOf(type, entity), undefined);
  }

  /** The warnings of this member, with unwritten sightings. */
  all(): readonly KnownWarning[] {
    const all = new Map(this.#deps.records.warnings.list().map((entry) => [entry.name, entry.document]));
    for (const key of new Set([...this.#flying.keys(), ...this.#pending.keys()])) {
      const now = this.#now(key);
      if (now !== undefined) all.set(now.name, now.document);
    }
    return [...all].map(([name, document]) => ({ name, document }));
  }

  /** Resolves when due sightings, or all, are written as far as the store takes them. Never throws. */
  write(isAll = false): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeDue(isAll));
    return this.#writing;
  }

  /** Drops a warning that is not stored yet. */
  forget(uuid: string): void {
    for (const [key, sighting] of this.#pending)
      if ((this.#byKey().get(key)?.name ?? sighting.uuid) === uuid) this.#pending.delete(key);
  }

  /** Each minute: writes pending sightings; removes long resolved warnings and those about deleted objects; follows renames. */
  async tidy(): Promise<void> {
    await this.write();
    const { records, clock, canWrite } = this.#deps;
    const nowMs = clock.nowMs();
    for (const [key, atMs] of this.#writtenAtMs) if (isPast(atMs, nowMs)) this.#writtenAtMs.delete(key);
    const isStale = ({ document }: KnownWarning): boolean =>
      isExpired(document, nowMs) || this.#presentEntity(document) !== document.entity;
    if (!canWrite() || !records.warnings.list().some(isStale)) return;
    await records.retry((changes) => {
      for (const known of records.warnings.list().filter(isStale).slice(0, atOnce))
        this.#putTidy(changes, known, nowMs);
    });
  }

  /** Waits for the store only briefly. */
  async close(): Promise<void> {
    const ended = new AbortController();
    const longest = pause(longestCloseMs, ended.signal).catch(() => {});
    await Promise.race([this.write(true), longest]);
    ended.abort();
  }

  #putTidy(changes: Changes, { name, document }: KnownWarning, nowMs: number): void {
    const entity = this.#presentEntity(document);
    if (isExpired(document, nowMs) || entity === undefined) changes.delete('warnings', name);
    else changes.put('warnings', name, { ...document, entity });
  }

  #presentEntity({ entity }: WarningDocument): WarningEntity | undefined {
    return entity === undefined ? undefined : presentEntity(this.#deps.records, entity, undefined);
  }

  #note(key: string, next: (before: Sighting | undefined) => Sighting): void {
    const before = this.#pending.get(key);
    if (before === undefined && this.#pending.size >= maxWarnings) return;
    this.#pending.set(key, next(before));
    if (this.#isSoon || !this.#isDue(key)) return;
    this.#isSoon = true;
    setImmediate(() => {
      this.#isSoon = false;
      void this.write();
    });
  }

  /** Sightings that are not in the records yet. In a cluster the records may show a write before the store has acknowledged it. */
  #unwritten(key: string): Sighting | undefined {
    const [sent, pending] = [this.#flying.get(key), this.#pending.get(key)];
    const isWritten = sent !== undefined && this.#byKey().get(key)?.document.updatedAt === sent.at;
    const flying = isWritten ? undefined : sent;
    return flying === undefined ? pending : joined(flying, pending);
  }

  /** The warning with unwritten sightings. */
  #now(key: string): KnownWarning | undefined {
    const sighting = this.#unwritten(key);
    return sighting === undefined ? this.#byKey().get(key) : this.#after(key, sighting);
  }

  /** The record after the sighting; undefined: there is no warning. */
  #after(key: string, sighting: Sighting): KnownWarning | undefined {
    const known = this.#byKey().get(key);
    const document = nextWarning(known?.document, sighting);
    return document && { name: known?.name ?? sighting.uuid, document };
  }

  #isDue(key: string): boolean {
    const atMs = this.#writtenAtMs.get(key);
    return atMs === undefined || isPast(atMs, this.#deps.clock.nowMs());
  }

  async #writeDue(isAll: boolean): Promise<void> {
    if (!this.#deps.canWrite()) return;
    const due = [...this.#pending].filter(([key]) => isAll || this.#isDue(key));
    for (let from = 0; from < due.length; from += atOnce) await this.#writeSome(due.slice(from, from + atOnce));
  }

  async #writeSome(some: readonly (readonly [string, Sighting])[]): Promise<void> {
    const { records, clock, log } = this.#deps;
    for (const [key, sighting] of some) {
      this.#pending.delete(key);
      this.#flying.set(key, sighting);
    }
    try {
      await records.retry((changes) => this.#put(changes, some));
      for (const [key] of some) this.#writtenAtMs.set(key, clock.nowMs());
    } catch (error) {
      for (const [key, sighting] of some) this.#pending.set(key, joined(sighting, this.#pending.get(key)));
      log.debug(`Warnings could not be written, and wait for the next minute: ${errorText(error)}`);
    } finally {
      for (const [key] of some) this.#flying.delete(key);
    }
  }

  #put(changes: Changes, some: readonly (readonly [string, Sighting])[]): void {
    const { warnings } = this.#deps.records;
    const next = some.flatMap(([key, sighting]) => {
      const then = this.#after(key, sighting);
      return then === undefined || then.document === this.#byKey().get(key)?.document ? [] : [then];
    });
    const changed = new Set(next.map(({ name }) => name));
    const kept = warnings.list().filter(({ name }) => !changed.has(name));
    const gone = new Set(surplus<KnownWarning>([...kept, ...next]).map(({ name }) => name));
    for (const { name, document } of next) if (!gone.has(name)) changes.put('warnings', name, document);
    for (const name of gone) if (warnings.has(name)) changes.delete('warnings', name);
  }

  #isOpenAs(key: string, message: string | undefined): boolean {
    const document = this.#now(key)?.document;
    if (document === undefined || document.status === 'resolved') return false;
    return message === undefined || document.lastMessage === clipped(message);
  }

  #openOf(type: WarningType): readonly (WarningEntity | undefined)[] {
    const { text } = warningTypes[type];
    return this.all()
      .filter(({ document }) => document.type === text && document.status !== 'resolved')
      .map(({ document }) => document.entity);
  }

  #byKey(): ReadonlyMap<string, KnownWarning> {
    const { warnings } = this.#deps.records;
    if (this.#known?.generation !== warnings.generation) {
      const byKey = warnings
        .list()
        .map((known) => [identityOf(known.document.type, known.document.entity), known] as const);
      this.#known = { generation: warnings.generation, byKey: new Map(byKey) };
    }
    return this.#known.byKey;
  }
}

/** Also true for a clock that was set back. */
const isPast = (atMs: number, nowMs: number): boolean => !isWithin(minuteMs, atMs, nowMs);
