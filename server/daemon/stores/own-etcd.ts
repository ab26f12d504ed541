// The etcds that the members of a cluster run themselves: which of them this host runs, and its part in changing that.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type EtcdIssuers, writeEtcdCertificates } from '../../membership/etcd/certificates.ts';
import type { EtcdStart } from '../../membership/etcd/etcd-flags.ts';
import { EtcdProcess } from '../../membership/etcd/etcd-process.ts';
import type { EtcdMembership } from '../../membership/etcd/membership.ts';
import type { EtcdMember } from '../../membership/etcd/voters.ts';
import { clusterDir, readMembership, writeMembership, type ClusterStore } from '../../membership/membership.ts';
import type { Members } from '../../membership/members.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { type Rest, RestlessLoop } from '../../lib/restless-loop.ts';
import { addressesOf, clientOf, hostOf, nameOf, peerOf } from './etcd-place.ts';
import { type EtcdNote, etcdNotePath, etcdStartOf, readEtcdNote, storeName } from './etcd-note.ts';
import { handOver, leadHere, membershipOf, untilServing, withdrawFrom } from './etcd-link.ts';
import { etcdChange, noteOfJoining, ProgramLook, StoreCare, votersOf } from './etcd-watch.ts';

export interface OwnEtcdDeps {
  readonly stateDir: string;
  readonly log: Log;
  /** The program; undefined: that of PATH. */
  readonly etcdPath: string | undefined;
  /** Who signs certificates of the etcds, and whom they trust, as it is now. */
  readonly issuers: () => EtcdIssuers;
}

/** What a member has of the records: a vote and a copy, a copy, or nothing. */
export type EtcdRole = 'vote' | 'copy' | 'none';

export interface EtcdWatchDeps {
  readonly members: Members;
  /** The records are reached through these from now on: HOST:PORT each. */
  readonly useEndpoints: (endpoints: readonly string[]) => void;
  /** How many members vote at most, by the settings as they are now. */
  readonly maxVoters: () => number;
}

/** Which members run one is looked at this often while that may be about to change, and otherwise. */
const lookEveryMs = { restless: 2_000, settled: 15_000 };
/** After members came or went, or the settings changed. */
const restlessMs = 30_000;
/** A learner gets its vote with a later look when it has not caught up. */
const promoteMs = 1_500;
export class OwnEtcd {
  readonly #deps: OwnEtcdDeps;
  #process: EtcdProcess | undefined;
  readonly #care: StoreCare;
  #loop: RestlessLoop | undefined;
  #unfollow: () => void = () => {};
  #members: Members | undefined;
  /** To the etcds of that address of the store. */
  #link: { readonly address: string; readonly membership: EtcdMembership } | undefined;
  #isStopped = false;
  /** Generations of the authorities that the etcd of this host trusts since its start. */
  #trusted = '';
  /** Looks and changes of keys follow each other. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Those of the cluster when they were last looked at. */
  #found: readonly EtcdMember[] | undefined;
  readonly #program: ProgramLook;
  /** From its withdrawal on this host takes no place among the etcds again. */
  #isLeaving = false;

  constructor(deps: OwnEtcdDeps) {
    this.#deps = deps;
    this.#care = new StoreCare(deps.log);
    this.#program = new ProgramLook(deps);
  }

  /** For a new cluster, at the two ports after that of the first member. Throws an Error that says why etcd cannot run. */
  async found(address: string, token: string): Promise<ClusterStore> {
    const store = await this.storeFor(address, `etcd://${clientOf(address)}/${storeName}`);
    await rm(this.#dir('etcd'), { recursive: true, force: true });
    const noted = { name: nameOf(address), ...addressesOf(address), first: { kind: 'new' as const, token } };
    const process = await this.#newProcess();
    await process.start(this.#startOf(noted));
    this.#process = process;
    await this.#note(noted);
    return store;
  }

  /** What a member needs to reach the etcds, signed by the authority as it is now. */
  async storeFor(address: string, etcds: string): Promise<ClusterStore> {
    const { ca, cert, key } = await writeEtcdCertificates(this.#dir('tls'), this.#deps.issuers(), {
      name: nameOf(address),
      hosts: [hostOf(address)],
    });
    return { address: etcds, own: true, ca, cert, key };
  }

  /**
   * The authority, or whom it trusts, is another one: the files are written before `relink`, and an etcd that trusts others than before is
   * started again. Throws when it does not serve then; it can be repeated.
   */
  async renew(address: string, relink: () => Promise<void>): Promise<void> {
    // A look under way may wait for etcds that do not let this host in any more.
    this.#closeLink();
    await this.#inTurn(async () => {
      const { store } = (await readMembership(this.#deps.stateDir)) ?? {};
      if (store?.own !== true) return;
      await leadHere(store, { isAway: this.#isAway });
      await this.storeFor(address, store.address);
      this.#closeLink();
      await this.#care.end();
      await relink();
      const noted = await readEtcdNote(this.#deps.stateDir);
      if (this.#process === undefined || noted === undefined) return;
      if (this.#trusted !== (await this.#trustedNow())) await this.#startAgain(noted, store);
      await untilServing(store, noted.clientAddress, {
        isAway: this.#isAway,
        // One that the others have taken off their list ends by itself.
        hasEnded: () => this.#process?.status.state === 'failed' || this.#isStopped,
      });
    });
  }

  /** False before this host knows the members. */
  readonly #isAway = (peerAddress: string): boolean =>
    this.#members?.list().every(({ address, isPresent }) => peerOf(address) !== peerAddress || !isPresent) ?? false;

  /** At daemon start, before the store is opened. The etcd of this host serves once most of them run. */
  async resume(): Promise<void> {
    const noted = await readEtcdNote(this.#deps.stateDir);
    if (noted === undefined) return;
    this.#process = await this.#newProcess();
    await this.#process.keepRunning(this.#startOf(noted));
  }

  /** From now on the first members run one each, whoever comes or goes; where the members run none this host looks at nothing. */
  watch(deps: EtcdWatchDeps): void {
    this.#unfollow();
    void this.#loop?.stop();
    const look = async (): Promise<Rest> => {
      try {
        return await this.#inTurn(() => this.#look(deps));
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

  /** The members or the settings may be others now. */
  lookSoon(): void {
    this.#loop?.soon();
  }

  /** What an operator has to know, one sentence each. */
  get warnings(): readonly string[] {
    return [...this.ownWarnings, ...this.storeWarnings];
  }

  /** Those about the etcd of this host. */
  get ownWarnings(): readonly string[] {
    const { missing } = this.#program;
    const own = missing === undefined ? [] : [`This member keeps no copy of the records of the cluster: ${missing}`];
    const { state, reason } = this.#process?.status ?? {};
    const isDown = (state === 'failed' || state === 'waiting') && reason !== undefined;
    const ended = isDown ? [`The etcd of this member does not run: ${reason}`] : [];
    return [...own, ...ended];
  }

  /** Those about the etcds of all members, which each of them finds. */
  get storeWarnings(): readonly string[] {
    return this.#care.warnings;
  }

  /** The part of the member at this address in keeping the records; undefined while that is not known, and where no member has any. */
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
    await this.#process?.stop();
  }

  /** Before this host leaves its cluster: the others do without its etcd from then on. Throws when they cannot. */
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

  /** The host is in no cluster any more. */
  async forget(): Promise<void> {
    await this.#endWatch();
    await this.#care.end();
    this.#found = undefined;
    this.#isLeaving = false;
    await this.#process?.stop();
    this.#process = undefined;
    for (const name of ['etcd', 'etcd.json', 'tls']) await rm(this.#dir(name), { recursive: true, force: true });
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
    if (this.#process === undefined) await this.#program.look();
    const mine = found.find(({ peerAddress }) => peerAddress === peerOf(here.address));
    if (mine === undefined && this.#process !== undefined) return await this.#retire();
    if (mine !== undefined && this.#process === undefined) return await this.#join(here.address, found);
    const change = etcdChange(members.list(), found, maxVoters());
    if (change === undefined) return 'settled';
    if (change.do === 'add') {
      if (change.candidate.number !== here.number || !this.hasProgram) return 'restless';
      const { members: all } = await link.addLearner(peerOf(here.address));
      return await this.#join(here.address, all);
    }
    // One member acts, so that no two changes meet.
    const present = members.list().filter(({ isPresent }) => isPresent);
    if (Math.min(...present.map(({ number }) => number)) !== here.number) return 'restless';
    if (change.do === 'remove') await link.remove(change.member.id);
    else await link.promote(change.member.id, { timeoutMs: promoteMs });
    return 'restless';
  }

  /** One connection serves many looks, until a call fails or the etcds are others. */
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

  /** A call under way fails at once. */
  async #endWatch(): Promise<void> {
    this.#unfollow();
    const ended = this.#loop?.stop();
    this.#closeLink();
    await ended;
    this.#closeLink();
  }

  /** There is a place for an etcd of this host: it begins with nothing and gets everything from the others. */
  async #join(address: string, found: readonly EtcdMember[]): Promise<Rest> {
    const noted = noteOfJoining(address, found);
    await rm(this.#dir('etcd'), { recursive: true, force: true });
    await this.#note(noted);
    this.#process = await this.#newProcess();
    await this.#process.keepRunning(this.#startOf(noted));
    this.#deps.log.info(`This member runs an etcd of the cluster now, at ${noted.clientAddress}`);
    return 'restless';
  }

  /** The others have taken its place. */
  async #retire(): Promise<Rest> {
    await this.#process?.stop();
    this.#process = undefined;
    await rm(this.#dir('etcd.json'), { force: true });
    await rm(this.#dir('etcd'), { recursive: true, force: true });
    this.#deps.log.info('This member no longer runs an etcd of the cluster');
    return 'restless';
  }

  /** Etcds come and go: this member reaches the records through those that are there, now and after a restart. */
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

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** It reads whom it trusts only at its start. */
  async #startAgain(noted: EtcdNote, store: ClusterStore): Promise<void> {
    await handOver(store, noted.clientAddress, { isAway: this.#isAway });
    await this.#process?.stop();
    if (this.#isStopped) return;
    this.#process = await this.#newProcess();
    await this.#process.keepRunning(this.#startOf(noted)).catch((error: unknown) => {
      // The next call tries again.
      this.#trusted = '';
      throw error;
    });
  }

  async #trustedNow(): Promise<string> {
    return this.#deps
      .issuers()
      .trusted.map(({ generation }) => generation)
      .join();
  }

  async #newProcess(): Promise<EtcdProcess> {
    this.#trusted = await this.#trustedNow();
    const { log, etcdPath } = this.#deps;
    return new EtcdProcess({ log, ...(etcdPath === undefined ? {} : { etcdPath }) });
  }

  #dir(name: string): string {
    return join(clusterDir(this.#deps.stateDir), name);
  }

  #startOf(noted: EtcdNote): EtcdStart {
    return etcdStartOf(this.#deps.stateDir, noted);
  }

  async #note(noted: EtcdNote): Promise<void> {
    await mkdir(clusterDir(this.#deps.stateDir), { recursive: true, mode: 0o700 });
    await writeDurably(etcdNotePath(this.#deps.stateDir), `${JSON.stringify(noted)}\n`, 0o600);
  }
}
