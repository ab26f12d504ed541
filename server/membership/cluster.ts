// The part that this host plays in a cluster, for all rooms above: who the members are, who has what, how they are reached. Outside a
// cluster it says so, and everything is here.
import { type AppError, errors } from '../api/errors.ts';
import { containerOfUrl } from '../api/project/project-of-url.ts';
import { operationIdOf, Routing } from './routing.ts';
import type { Log } from '../lib/log.ts';
import type { Records } from '../records/records.ts';
import type { Store } from '../store/store.ts';
import { removed, silence } from './member-status.ts';
import { type Member, Members } from './members.ts';
import type { MemberPair } from './keys/identity.ts';
import { MemberCertificates } from './keys/member-certificates.ts';
import { peerHeaders } from './peer-headers.ts';
import { PeerLinks } from './peer-links.ts';
import { Presence, type PresenceDeps } from './presence.ts';
import { rejoinSpreadMs } from './presence-rules.ts';
import { ReadBarrier } from './read-barrier.ts';

export interface ClusterDeps {
  readonly records: Records;
  readonly store: () => Store;
  /** By which the other members know this one. */
  readonly identity: () => MemberPair | undefined;
  readonly log: Log;
  /** The records are those that this member kept at that time: it waits for a majority. */
  readonly keptAt?: Date | undefined;
}

/** What this member tells the others. */
export type Self = Pick<PresenceDeps, 'present' | 'statusOf' | 'ttlSeconds' | 'isFenced' | 'beforeTelling'>;

/** A member whose clock is asked for answers in this time. */
const clockMs = 5_000;

export class Cluster {
  readonly members: Members;
  readonly routing: Routing;
  readonly links: PeerLinks;
  readonly certificates: MemberCertificates;
  readonly #deps: ClusterDeps;
  readonly #barrier: ReadBarrier;
  #presence: Presence | undefined;
  readonly #onLost = new Set<() => void>();

  constructor(deps: ClusterDeps) {
    this.#deps = deps;
    this.members = new Members(deps.records, () => this.#isCutOff);
    this.routing = new Routing(deps.records, this.members);
    this.certificates = new MemberCertificates(deps.records);
    this.links = new PeerLinks({ own: () => this.#ownPair(), certificateOf: (name) => this.certificates.of(name) });
    this.members.onPresence((number, isPresent) => {
      const member = this.members.byNumber(number);
      // A host that leaves its cluster hears no more of anybody.
      if (this.isOn && !isPresent && member?.isHere === false) this.links.giveUp(member);
    });
    this.#barrier = new ReadBarrier({ store: deps.store, contents: deps.records.contents });
  }

  get isOn(): boolean {
    return this.members.isOn;
  }

  /** Name of this member; `none` outside a cluster. */
  get ownName(): string {
    return this.members.ownName;
  }

  /** Where the other members reach this one; undefined outside a cluster. */
  get ownAddress(): string | undefined {
    return this.isOn ? this.members.byNumber(this.members.here)?.address : undefined;
  }

  /** Once its record says that the others know it by it. */
  #ownPair(): MemberPair | undefined {
    const pair = this.#deps.identity();
    return pair !== undefined && this.certificates.of(this.ownName) === pair.certPem ? pair : undefined;
  }

  /** For an operation that begins here. */
  operationId(random: string): string {
    return operationIdOf(this.members.here, random);
  }

  /** What another member answers this one in its own dialect. Throws AppError as it answered, or unavailable. */
  ask<T = unknown>(
    member: Pick<Member, 'name' | 'address'>,
    method: string,
    path: string,
    body?: object,
    signal?: AbortSignal,
  ): Promise<T> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    return this.links.json<T>(member, {
      method,
      path,
      headers: { ...peerHeaders(this.ownName), ...type },
      body: body === undefined ? null : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** What the clock of another member says, in ms since 1970, to a second; undefined: it does not say. */
  async clockOf(member: Member): Promise<number | undefined> {
    const headers = peerHeaders(this.ownName);
    const { headers: answered, body } = await this.links.request(member, {
      method: 'GET',
      path: '/1.0',
      headers,
      timeoutMs: clockMs,
    });
    body.resume();
    const ms = Date.parse(String(answered['date']));
    return Number.isNaN(ms) ? undefined : ms;
  }

  /** False: the store does not answer, and what is read may be old. */
  async readBarrier(): Promise<boolean> {
    if (this.#deps.keptAt !== undefined) return false;
    return !this.isOn || (!this.isRemoved && (await this.#barrier.pass()));
  }

  /** When the store answered this member last; undefined: it answers, as far as the reads so far have shown. */
  get silentSince(): Date | undefined {
    if (this.#deps.keptAt !== undefined) return this.#deps.keptAt;
    const readMs = this.#barrier.silentSinceMs;
    if (!this.isOn || readMs === undefined) return undefined;
    const heardMs = Math.max(readMs, this.#presence?.renewedMs ?? readMs);
    return new Date(Date.now() - (performance.now() - heardMs));
  }

  /** The store does not answer and the lease of this member is over: the leases of the others may be over as well. */
  get #isCutOff(): boolean {
    if (this.#deps.keptAt !== undefined) return true;
    return this.#barrier.silentSinceMs !== undefined && performance.now() > this.heldUntilMs;
  }

  /** False: the store did not answer the last read, or the last renewal, and does not answer now. */
  async takesChanges(): Promise<boolean> {
    if (!this.isOn) return true;
    if (this.#deps.keptAt !== undefined) return false;
    return !this.isRemoved && (await this.#barrier.answersChanges(this.#presence?.isOverdue === true));
  }

  /** The answer to a change that is not taken. */
  refusal(): AppError {
    return errors.unavailable(`Nothing was changed. ${this.doubt ?? 'Try again'}`);
  }

  /** The others have removed this member without its doing. */
  get isRemoved(): boolean {
    return this.isOn && this.members.byNumber(this.members.here) === undefined;
  }

  /** Why answers may be out of date, in words; undefined: they are not, as far as the reads so far have shown. */
  get doubt(): string | undefined {
    if (this.isRemoved) return removed;
    return this.silentSince === undefined ? undefined : silence(this.silentSince);
  }

  /** Resolves when what any member has acknowledged is known here. Throws AppError unavailable when the store stays away for long; `doubt`
   *  is what is not known then. */
  async needNews(doubt: string): Promise<void> {
    if (this.isOn && !(await this.#barrier.passAtLast()))
      throw errors.unavailable(`${doubt} is not known: the store of the cluster does not answer`);
  }

  /** Resolves when the other members can see this one. Without a cluster there is nothing to do. */
  async appear(self: Self): Promise<void> {
    const { records, store, log } = this.#deps;
    if (!this.isOn || this.#presence !== undefined) return;
    this.#presence = new Presence({
      store: store(),
      member: this.members.here,
      ttlSeconds: self.ttlSeconds,
      spreadMs: () => rejoinSpreadMs(records.members.size, self.ttlSeconds(), Math.random()),
      isFenced: self.isFenced,
      beforeTelling: self.beforeTelling,
      present: self.present,
      statusOf: self.statusOf,
      containers: () => records.containers.list().map(({ name }) => name),
      log,
      onLost: () => this.#onLost.forEach((listener) => listener()),
    });
    await this.#presence.start();
  }

  /** On the clock of performance.now(): until then no other member takes this one for lost. */
  get heldUntilMs(): number {
    return this.#presence?.heldUntilMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Whether the others know that what runs here ends with the lease of this member; undefined: they may. */
  get isToldFenced(): boolean | undefined {
    return this.#presence?.isToldFenced;
  }

  /** This member lost its lease: the others may act on what it had. */
  onLost(listener: () => void): () => void {
    this.#onLost.add(listener);
    return () => this.#onLost.delete(listener);
  }

  /** What a container does may be something else now. */
  touch(container: string): void {
    this.#presence?.touch(container);
  }

  /** Settings may have changed: the time after which silence counts as the end of this member. */
  async retime(): Promise<void> {
    await this.#presence?.retime();
  }

  /** When it resolves, other members can see what containers do here: those at these URLs, and those that were touched. Never throws: they
   *  will see it later. */
  async awaitVisible(urls: readonly string[] = []): Promise<void> {
    for (const url of urls) {
      const container = containerOfUrl(url);
      if (container !== undefined) this.#presence?.mark(container);
    }
    await this.#presence?.flush().catch(() => {});
  }

  /** When it resolves, other members can see what this one says of itself (`Self.present`). Never throws: they will see it later. */
  async publish(): Promise<void> {
    await this.#presence?.publish().catch(() => {});
  }

  async disappear(): Promise<void> {
    await this.#presence?.stop();
    this.#presence = undefined;
  }

  async close(): Promise<void> {
    await this.disappear();
    await this.links.close();
  }
}
