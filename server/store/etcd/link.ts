// Calls to the members of an etcd: with a deadline, failover to another member, and a token if etcd has users.
import type { Metadata } from '@grpc/grpc-js';
import { pause } from '../../lib/shared/deadline.ts';
import { storeErrors } from '../store-errors.ts';
import { StoreError } from '../store.ts';
import { EtcdFailure } from './failure.ts';
import { Member, type MemberOptions, type Stream } from './member.ts';
import type { Calls, Header, Streams } from './messages.ts';
import { Patience } from '../../lib/patience.ts';
import { Pulse } from './pulse.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface LinkOptions extends MemberOptions {
  readonly endpoints: readonly string[];
  readonly login?: { readonly user: string; readonly password: string };
  /** The initial time limit of one attempt: it grows while no member answers in time. */
  readonly attemptMs?: number;
  /** The time limit of a call with all its attempts: longer than an election takes. */
  readonly totalMs?: number;
}

const defaults = { attemptMs: 2_000, totalMs: 10_000, firstPauseMs: 20, longestPauseMs: 500 };

export class EtcdLink {
  readonly attemptMs: number;
  readonly totalMs: number;
  #members: readonly Member[];
  #options: LinkOptions;
  readonly #login: LinkOptions['login'];
  #at = 0;
  #token: Promise<string> | undefined;
  #revision = 0;
  /** The newest term seen in any answer; 0: none. */
  #term = 0;
  #clusterId: string | undefined;
  #wentBack: StoreError | undefined;
  readonly #closing = new AbortController();
  readonly #pulse = new Pulse();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#members = options.endpoints.map((endpoint) => new Member(endpoint, options));
    this.#login = options.login;
    this.attemptMs = options.attemptMs ?? defaults.attemptMs;
    this.totalMs = options.totalMs ?? defaults.totalMs;
  }

  /** The newest revision seen in any answer. */
  get revision(): number {
    return this.#revision;
  }

  get endpoint(): string {
    return this.#member.endpoint;
  }

  /** Replaces etcd's addresses; calls in progress stay with their member. */
  useEndpoints(endpoints: readonly string[]): void {
    const current = this.#member;
    const kept = this.#members.filter(({ endpoint }) => endpoints.includes(endpoint));
    const known = new Set(kept.map(({ endpoint }) => endpoint));
    const added = endpoints.filter((endpoint) => !known.has(endpoint));
    const gone = this.#members.filter((member) => !kept.includes(member));
    if (endpoints.length === 0 || (added.length === 0 && gone.length === 0)) return;
    this.#members = [...kept, ...added.map((endpoint) => new Member(endpoint, this.#options))];
    this.#at = Math.max(0, this.#members.indexOf(current));
    for (const member of gone) {
      member.endStreams();
      member.close();
    }
  }

  /** Replaces certificates and authorities; calls in progress stay with their member. */
  useTls(tls: MemberOptions['tls']): void {
    const { tls: _former, ...options } = this.#options;
    this.#options = { ...options, ...withoutUndefined({ tls }) };
    const former = this.#members;
    this.#members = former.map(({ endpoint }) => new Member(endpoint, this.#options));
    for (const member of former) {
      member.endStreams();
      member.close();
    }
  }

  /** For calls that may be repeated. Throws StoreError Unavailable if no member answered in time. */
  async call<C extends keyof Calls>(name: C, request: Calls[C][0]): Promise<Calls[C][1]> {
    const patience = this.patience();
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.attempt(name, request, patience);
      } catch (error) {
        if (!(error instanceof EtcdFailure)) throw error;
        if (error.kind !== 'unreachable') throw error;
        if (patience.isOver) throw error.toStoreError();
      }
      await this.pause(attempt);
    }
  }

  /** The time limits for the attempts of one call, which begins now. */
  patience(): Patience {
    return new Patience(this);
  }

  /** One attempt; after `unreachable` the next call goes to another member. Throws EtcdFailure. */
  async attempt<C extends keyof Calls>(
    name: C,
    request: Calls[C][0],
    patience: Patience = this.patience(),
  ): Promise<Calls[C][1]> {
    for (let renewed = false; ; renewed = true) {
      this.#assertOpen();
      const member = this.#member;
      const before = this.#revision;
      try {
        const answer = await this.#ask(member, name, request, patience.limitMs(this.#members.length));
        // etcd 3.4 sends no header with alarms.
        if (answer.header !== null) this.#note(answer.header, name === 'Txn' || name === 'Range' ? before : 0);
        return answer;
      } catch (error) {
        this.#assertOpen();
        if (!(error instanceof EtcdFailure)) throw error;
        if (error.isLate) patience.wasLate();
        if (error.kind === 'unreachable' && !error.hasNewLeader) this.#leave(member);
        if (error.kind !== 'token' || renewed || this.#login === undefined) throw error;
        this.#token = undefined;
      }
    }
  }

  /** If there is another member, an attempt leaves one that stopped working before the time limit. */
  async #ask<C extends keyof Calls>(
    member: Member,
    name: C,
    request: Calls[C][0],
    limitMs: number,
  ): Promise<Calls[C][1]> {
    const metadata = await this.#metadata();
    if (this.#members.length === 1) return await member.call(name, request, metadata, limitMs);
    return await this.#pulse.watching(member, { limitMs, term: this.#term }, (over) =>
      member.call(name, request, metadata, limitMs, over),
    );
  }

  /** Ends with an error when its member is given up; reopened, it goes to another one. */
  async open<S extends keyof Streams>(name: S): Promise<Stream<S>> {
    this.#assertOpen();
    const metadata = await this.#metadata();
    return this.#member.open(name, metadata);
  }

  /** For a stream that showed its member to be unavailable. */
  giveUp(failure: EtcdFailure, endpoint: string): void {
    if (failure.kind === 'token') this.#token = undefined;
    if (failure.kind === 'unreachable' && this.endpoint === endpoint) this.#leave(this.#member);
  }

  pause(attempt: number): Promise<void> {
    const ms = Math.min(defaults.longestPauseMs, defaults.firstPauseMs * 2 ** Math.min(attempt, 10));
    return pause(ms * (0.5 + Math.random()), this.#closing.signal);
  }

  /** Streams pass the header of every answer. */
  note(header: Header): void {
    this.#note(header, 0);
  }

  /** Another etcd answers at this address: every call fails from then on. */
  get isLost(): boolean {
    return this.#wentBack !== undefined;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  close(): void {
    if (this.isClosed) return;
    this.#closing.abort(storeErrors.closed());
    for (const member of this.#members) member.close();
  }

  get #member(): Member {
    const member = this.#members[this.#at];
    if (member === undefined) throw new StoreError('Invalid', 'the address of the store names no member');
    return member;
  }

  #leave(member: Member): void {
    if (this.#members.length === 1 || this.#member !== member) return;
    this.#at = (this.#at + 1) % this.#members.length;
    member.endStreams();
  }

  #assertOpen(): void {
    if (this.isClosed) throw storeErrors.closed();
    if (this.#wentBack !== undefined) throw this.#wentBack;
  }

  /** A linearizable answer is never older than what was known before the call: otherwise this is another etcd, or an older copy. */
  #note({ clusterId, revision, raftTerm }: Header, atLeast: number): void {
    this.#clusterId ??= clusterId;
    this.#term = Math.max(this.#term, Number(raftTerm) || 0);
    const now = Number(revision);
    if (clusterId !== this.#clusterId || (now > 0 && now < atLeast)) {
      const was = `revision ${atLeast} of cluster ${this.#clusterId}`;
      this.#wentBack = new StoreError(
        'Unavailable',
        `etcd at ${this.endpoint} is at revision ${now} of cluster ${clusterId}, but was at ${was}: it was restored or replaced. Restart to read everything again`,
      );
      for (const member of this.#members) member.endStreams();
      throw this.#wentBack;
    }
    if (now > this.#revision) this.#revision = now;
  }

  async #metadata(): Promise<Metadata> {
    const metadata = this.#member.metadata();
    if (this.#login !== undefined) metadata.set('token', await this.#tokenNow(this.#login));
    return metadata;
  }

  #tokenNow(login: { readonly user: string; readonly password: string }): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    const asked = this.#authenticate(login);
    this.#token = asked;
    asked.catch(() => {
      if (this.#token === asked) this.#token = undefined;
    });
    return asked;
  }

  async #authenticate({ user, password }: { readonly user: string; readonly password: string }): Promise<string> {
    const member = this.#member;
    try {
      const request = { name: user, password };
      return (await member.call('Authenticate', request, member.metadata(), this.attemptMs)).token;
    } catch (error) {
      if (error instanceof EtcdFailure && error.kind === 'unreachable') this.#leave(member);
      throw error;
    }
  }
}
