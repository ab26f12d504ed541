// The etcds that the members of a cluster run: which of them run one, and this host's part in changing that.
import type { EtcdMembership } from '../../membership/etcd/membership.ts';
import type { EtcdMember } from '../../membership/etcd/voters.ts';
import { readMembership, writeMembership, type ClusterStore } from '../../membership/membership.ts';
import type { Members } from '../../membership/members.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { ConcurrencyLimit } from '../../lib/shared/concurrency-limit.ts';
import { type OwnEtcdDeps, OwnEtcdProcess } from './own-etcd-process.ts';
import { type Rest, RestlessLoop } from '../../lib/restless-loop.ts';
import { clientOf, peerOf } from './etcd-place.ts';
import { readEtcdNote, storeName } from './etcd-note.ts';
import { handOver, leadHere, membershipOf, untilServing, withdrawFrom } from './etcd-link.ts';
import { etcdChange, noteOfJoining, ProgramLook, StoreCare, votersOf } from './etcd-watch.ts';

/** How a member keeps the records: with a vote and a copy, with a copy, or not at all. */
export type EtcdRole = 'vote' | 'copy' | 'none';

export interface EtcdWatchDeps {
  readonly members: Members;
  /** The records are reached through these etcds from now on: HOST:PORT each. */
  readonly useEndpoints: (endpoints: readonly string[]) => void;
  /** Max number of voters, by the current settings. */
  readonly maxVoters: () => number;
}

/** How often to check which members run an etcd: while that may change soon, and otherwise. */
const lookEveryMs = { restless: 2_000, settled: 15_000 };
/** How long a change is likely after members came or went, or the settings changed. */
const restlessMs = 30_000;
/** How long a learner may take to catch up before the next check promotes it. */
const promoteMs = 1_500;

export class OwnEtcd {
  readonly #deps: OwnEtcdDeps;
  readonly #own: OwnEtcdProcess;
  readonly #care: StoreCare;
  #loop: RestlessLoop | undefined;
  #unfollow: () => void = () => {};
  #members: Members | undefined;
  /** Membership client for the etcds at `address`. */
  #link: { readonly address: string; readonly membership: EtcdMembership } | undefined;
  #isStopped = false;
  /** Checks and key changes run one after another. */
  readonly #turns = new ConcurrencyLimit(1);
  /** The cluster's etcds at the last check. */
  #found: readonly EtcdMember[] | undefined;
  readonly #program: ProgramLook;
  /** Set by `withdraw`: this host joins the etcds no more. */
  #isLeaving = false;

  constructor(deps: OwnEtcdDeps) {
    this.#deps = deps;
    this.#own = new OwnEtcdProcess(deps);
    this.#care = new StoreCare(deps.log);
    this.#program = new ProgramLook(deps);
  }

  /** Founds the etcd of a new cluster, at the two ports after the first member's. Throws an Error that says why etcd cannot run. */
  async found(address: string, token: string): Promise<ClusterStore> {
    const store = await this.storeFor(address, `etcd://${clientOf(address)}/${storeName}`);
    await this.#own.found(address, token);
    return store;
  }

  /** A member's files for reaching the etcds, signed by the current authority. */
  async storeFor(address: string, etcds: string): Promise<ClusterStore> {
    return await this.#own.storeFor(address, etcds);
  }

  /** The authority, or whom it trusts, has changed: writes the files before `relink`, and restarts an etcd that trusts others than before.
   *  Throws if it does not serve then; idempotent. */
  async renew(address: string, relink: () => Promise<void>): Promise<void> {
    // A check in progress may wait for etcds that no longer admit this host.
    this.#closeLink();
    await this.#turns.run(async () => {
      const { store } = (await readMembership(this.#deps.stateDir)) ?? {};
      if (store?.own !== true) return;
      await leadHere(store, { isAway: this.#isAway });
      await this.storeFor(address, store.address);
      this.#closeLink();
      await this.#care.end();
      await relink();
      const noted = await readEtcdNote(this.#deps.stateDir);
      if (!this.#own.isThere || noted === undefined) return;
      if (this.#own.trustsOthers) {
        await handOver(store, noted.clientAddress, { isAway: this.#isAway });
        await this.#own.stop();
        if (!this.#isStopped) await this.#own.startAgain(noted);
      }
      await untilServing(store, noted.clientAddress, {
        isAway: this.#isAway,
        // An etcd that the others removed ends by itself.
        hasEnded: () => this.#own.status.state === 'failed' || this.#isStopped,
      });
    });
  }

  /** False before this host knows the members. */
  readonly #isAway = (peerAddress: string): boolean =>
    this.#members?.list().every(({ address, isPresent }) => peerOf(address) !== peerAddress || !isPresent) ?? false;

  /** At daemon start, before the store is opened. The etcd of this host serves once a majority runs. */
  async resume(): Promise<void> {
    await this.#own.resume();
  }

  /** Returns unused space and clears the alarm of a full etcd, which lets no member start. Never throws. */
  async makeRoom(store: ClusterStore): Promise<void> {
    await this.#care.runNow(store);
  }

  /** Keeps an etcd on the first members, whoever comes or goes; does nothing where the members run none. */
  watch(deps: EtcdWatchDeps): void {
    this.#unfollow();
    void this.#loop?.stop();
    const look = async (): Promise<Rest> => {
      try {
        return await this.#turns.run(() => this.#look(deps));
      } catch (error) {
        this.#deps.log.debug(`Looking after the etcds of the cluster failed: ${errorText(error)}`);
        this.#closeLink();
        return 'restless';
      }
    };
    this.#loop = new RestlessLoop({ look, everyMs: lookEveryMs, restlessMs });
    this.#members = deps.members;
    this.#unfollow = deps.members.onPresence(() => this.lookSoon());
    this.lookSoon();
  }

  /** Call when the members or the settings may have changed. */
  lookSoon(): void {
    this.#loop?.soon();
  }

  /** One sentence per warning for the operator. */
  get warnings(): readonly string[] {
    return [...this.ownWarnings, ...this.storeWarnings];
  }

  get ownWarnings(): readonly string[] {
    const { missing } = this.#program;
    const own = missing === undefined ? [] : [`This member keeps no copy of the records of the cluster: ${missing}`];
    const { state, reason } = this.#own.status;
    const isDown = (state === 'failed' || state === 'waiting') && reason !== undefined;
    const ended = isDown ? [`The etcd of this member does not run: ${reason}`] : [];
    return [...own, ...ended];
  }

  /** Warnings about the etcds of all members, which every member finds. */
  get storeWarnings(): readonly string[] {
    return this.#care.warnings;
  }

  /** The role of the member at this address; undefined while unknown, and where the members run none. */
  roleOf(address: string): EtcdRole | undefined {
    if (this.#found === undefined) return undefined;
    const its = this.#found.find(({ peerAddress }) => peerAddress === peerOf(address));
    return its === undefined ? 'none' : its.isLearner ? 'copy' : 'vote';
  }

  /** Whether this host could run an etcd of the cluster. */
  get hasProgram(): boolean {
    return this.#program.missing === undefined;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#endWatch();
    await this.#care.end();
    await this.#own.stop();
  }

  /** Call before this host leaves its cluster: removes its etcd. Throws if the others cannot do without. */
  async withdraw(address: string): Promise<void> {
    this.#isLeaving = true;
    try {
      await this.#loop?.idle();
      const membership = await readMembership(this.#deps.stateDir);
      if (membership?.store.own !== true) return;
      const link = await membershipOf(membership.store);
      try {
        await withdrawFrom(link, peerOf(address));
      } finally {
        link.close();
      }
    } catch (error) {
      this.#isLeaving = false;
      throw error;
    }
  }

  /** Stops and deletes the etcd of a host that left its cluster. */
  async forget(): Promise<void> {
    await this.#endWatch();
    await this.#care.end();
    this.#found = undefined;
    this.#isLeaving = false;
    await this.#own.forget();
  }

  async #look({ members, useEndpoints, maxVoters }: EtcdWatchDeps): Promise<Rest> {
    const membership = await readMembership(this.#deps.stateDir);
    if (this.#isStopped || membership?.store.own !== true) return 'over';
    const here = members.byNumber(members.here);
    if (this.#isLeaving || here === undefined) return 'restless';
    const link = await this.#linkTo(membership.store);
    const found = await link.list();
    this.#found = found;
    await this.#follow(membership, found, useEndpoints);
    await this.#care.begin(membership.store);
    if (!this.#own.isThere) await this.#program.look();
    const mine = found.find(({ peerAddress }) => peerAddress === peerOf(here.address));
    if (mine === undefined && this.#own.isThere) {
      await this.#own.drop();
      return 'restless';
    }
    if (mine !== undefined && !this.#own.isThere) return await this.#join(here.address, found);
    const change = etcdChange(members.list(), found, maxVoters());
    if (change === undefined) return 'settled';
    if (change.do === 'add') {
      if (change.candidate.number !== here.number || !this.hasProgram) return 'restless';
      const { members: all } = await link.addLearner(peerOf(here.address));
      return await this.#join(here.address, all);
    }
    // Only one member acts, so that changes do not collide.
    const present = members.list().filter(({ isPresent }) => isPresent);
    if (Math.min(...present.map(({ number }) => number)) !== here.number) return 'restless';
    if (change.do === 'remove') await link.remove(change.member.id);
    else await link.promote(change.member.id, { timeoutMs: promoteMs });
    return 'restless';
  }

  /** One connection serves many checks, until a call fails or the addresses change. */
  async #linkTo(store: ClusterStore): Promise<EtcdMembership> {
    if (this.#link?.address !== store.address) {
      this.#closeLink();
      this.#link = { address: store.address, membership: await membershipOf(store) };
    }
    return this.#link.membership;
  }

  #closeLink(): void {
    this.#link?.membership.close();
    this.#link = undefined;
  }

  /** Pending calls fail at once. */
  async #endWatch(): Promise<void> {
    this.#unfollow();
    const ended = this.#loop?.stop();
    this.#closeLink();
    await ended;
    this.#closeLink();
  }

  async #join(address: string, found: readonly EtcdMember[]): Promise<Rest> {
    await this.#own.join(noteOfJoining(address, found));
    return 'restless';
  }

  /** Etcds come and go: updates the addresses through which this member reaches the records, now and after a restart. */
  async #follow(
    membership: NonNullable<Awaited<ReturnType<typeof readMembership>>>,
    found: readonly EtcdMember[],
    useEndpoints: (endpoints: readonly string[]) => void,
  ): Promise<void> {
    const endpoints = votersOf(found);
    const address = `etcd://${endpoints.toSorted().join(',')}/${storeName}`;
    if (endpoints.length === 0 || address === membership.store.address) return;
    await writeMembership(this.#deps.stateDir, { ...membership, store: { ...membership.store, address } });
    useEndpoints(endpoints);
  }
}
