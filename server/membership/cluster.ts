// The part that this host plays in a cluster, for all rooms above: who the members are, who has what, how to reach them. Outside a cluster
// it says so, and every object is here.
import { type AppError, errors } from '../api/errors.ts';
import { containerOfUrl } from '../api/project/project-of-url.ts';
import { operationIdOf, Routing } from './routing.ts';
import type { Log } from '../lib/log.ts';
import type { Records } from '../records/records.ts';
import { repeatWhile } from '../lib/shared/repeat.ts';
import { type Store, StoreError } from '../store/store.ts';
import { removed, silence } from './member-status.ts';
import { type Member, Members } from './members.ts';
import type { MemberPair } from './keys/identity.ts';
import { MemberCertificates } from './keys/member-certificates.ts';
import { peerHeaders } from './peer-headers.ts';
import { PeerLinks } from './peer-links.ts';
import { Presence, type PresenceDeps } from './presence.ts';
import { rejoinSpreadMs } from './presence-rules.ts';
import { ReadBarrier } from './read-barrier.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface ClusterDeps {
  readonly records: Records;
  readonly store: () => Store;
  /** The key and certificate that identify this member to the others. */
  readonly identity: () => MemberPair | undefined;
  readonly log: Log;
  /** When this member saved the records that it serves while it waits for a majority. */
  readonly keptAt?: Date | undefined;
}

/** What this member publishes. */
export type Self = Pick<PresenceDeps, 'present' | 'statusOf' | 'ttlSeconds' | 'isFenced' | 'beforePublishing'>;

/** How long a member may take to answer a question about its clock. */
const clockMs = 5_000;
/** How long a start waits for a store that it could open and that no longer answers: it may have changed its keys, which this member gets from
 *  the others, or its leader. */
const appearMs = 120_000;
const appearAgainMs = 500;

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
      // A host that leaves its cluster gets no more presence changes.
      if (this.isOn && !isPresent && member?.isHere === false) this.links.giveUp(member);
    });
    this.#barrier = new ReadBarrier({ store: deps.store, contents: deps.records.contents });
  }

  get isOn(): boolean {
    return this.members.isOn;
  }

  get ownName(): string {
    return this.members.ownName;
  }

  /** Where the other members reach this one; undefined outside a cluster. */
  get ownAddress(): string | undefined {
    return this.isOn ? this.members.byNumber(this.members.here)?.address : undefined;
  }

  /** Undefined until the member's record has the certificate: peers reject it before. */
  #ownPair(): MemberPair | undefined {
    const pair = this.#deps.identity();
    return pair !== undefined && this.certificates.of(this.ownName) === pair.certPem ? pair : undefined;
  }

  operationId(random: string): string {
    return operationIdOf(this.members.here, random);
  }

  /** Another member's answer in its own dialect. Throws AppError: its own refusal, or unavailable. */
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
      ...withoutUndefined({ signal }),
    });
  }

  /** The clock of another member, in ms since 1970, to a second; undefined if it does not say. */
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

  /** False if the store does not answer: reads may then be old. */
  async readBarrier(): Promise<boolean> {
    if (this.#deps.keptAt !== undefined) return false;
    return !this.isOn || (!this.isRemoved && (await this.#barrier.pass()));
  }

  /** When the store last answered this member; undefined while it answers. */
  get silentSince(): Date | undefined {
    if (this.#deps.keptAt !== undefined) return this.#deps.keptAt;
    const readMs = this.#barrier.silentSinceMs;
    if (!this.isOn || readMs === undefined) return undefined;
    const heardMs = Math.max(readMs, this.#presence?.renewedMs ?? readMs);
    return new Date(Date.now() - (performance.now() - heardMs));
  }

  /** The store does not answer and this member's lease is over: other members' leases may be over, too. */
  get #isCutOff(): boolean {
    if (this.#deps.keptAt !== undefined) return true;
    return this.#barrier.silentSinceMs !== undefined && performance.now() > this.heldUntilMs;
  }

  /** False if the store failed the last read or renewal, and does not answer before it has been silent for longer than an election. */
  async takesChanges(): Promise<boolean> {
    if (!this.isOn) return true;
    if (this.#deps.keptAt !== undefined) return false;
    const presence = this.#presence;
    const heardMs = presence?.renewedMs ?? Number.NEGATIVE_INFINITY;
    return !this.isRemoved && (await this.#barrier.answersChanges(presence?.isOverdue === true, heardMs));
  }

  refusal(): AppError {
    return errors.unavailable(`Nothing was changed. ${this.doubt ?? 'Try again'}`);
  }

  /** The others have removed this member while it was away. */
  get isRemoved(): boolean {
    return this.isOn && this.members.byNumber(this.members.here) === undefined;
  }

  /** Why answers may be out of date; undefined as long as reads succeed. */
  get doubt(): string | undefined {
    if (this.isRemoved) return removed;
    return this.silentSince === undefined ? undefined : silence(this.silentSince);
  }

  /** Resolves when this member has read everything that any member has acknowledged. Throws AppError unavailable if the store stays away;
   *  `doubt` says what is not known then. */
  async needCurrent(doubt: string): Promise<void> {
    if (this.isOn && !(await this.#barrier.passAtLast()))
      throw errors.unavailable(`${doubt} is not known: the store of the cluster does not answer`);
  }

  /** Resolves when the other members can see this one. Does nothing outside a cluster. */
  async appear(self: Self): Promise<void> {
    const { records, store, log } = this.#deps;
    if (!this.isOn || this.#presence !== undefined) return;
    const presence = new Presence({
      store: store(),
      member: this.members.here,
      ttlSeconds: self.ttlSeconds,
      spreadMs: () => rejoinSpreadMs(records.members.size, self.ttlSeconds(), Math.random()),
      isFenced: self.isFenced,
      beforePublishing: self.beforePublishing,
      present: self.present,
      statusOf: self.statusOf,
      containers: () => records.containers.list().map(({ name }) => name),
      log,
      onLost: () => this.#onLost.forEach((listener) => listener()),
    });
    this.#presence = presence;
    await untilAppeared(presence);
  }

  /** On the clock of performance.now(): no other member considers this one lost before that. */
  get heldUntilMs(): number {
    return this.#presence?.heldUntilMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Whether the others know that everything here ends with this member's lease; undefined: they may. */
  get isFencePublished(): boolean | undefined {
    return this.#presence?.isFencePublished;
  }

  /** This member has lost its lease: the others may take over its objects. */
  onLost(listener: () => void): () => void {
    this.#onLost.add(listener);
    return () => this.#onLost.delete(listener);
  }

  /** A container's status may have changed. */
  touch(container: string): void {
    this.#presence?.touch(container);
  }

  /** Settings may have changed: the silence after which this member counts as lost. */
  async retime(): Promise<void> {
    await this.#presence?.retime();
  }

  /** Resolves when other members can see the status of the containers at these URLs and of those touched. Never throws: they then see it
   *  later. */
  async awaitVisible(urls: readonly string[] = []): Promise<void> {
    for (const url of urls) {
      const container = containerOfUrl(url);
      if (container !== undefined) this.#presence?.mark(container);
    }
    await this.#presence?.flush().catch(() => {});
  }

  /** Resolves when other members can see `Self.present`. Never throws: they then see it later. */
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

function untilAppeared(presence: Pick<Presence, 'start'>): Promise<void> {
  const endMs = performance.now() + appearMs;
  const mayPass = (error: unknown): boolean =>
    error instanceof StoreError && error.code === 'Unavailable' && performance.now() <= endMs;
  return repeatWhile(() => presence.start(), { mayPass, runs: Number.POSITIVE_INFINITY, pauseMs: appearAgainMs });
}
