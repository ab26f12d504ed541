// Gives the cluster new keys, and follows such a change with the other members: afterwards a removed member, and a copy of its files, has
// no access.
import type { ServiceParts } from '../../shared/service-parts.ts';
import type { Caller } from '../../shared/caller.ts';
import { AppError, errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { askPeers } from '../../../membership/keys/ask-peers.ts';
import type { ClusterKeys } from '../../../membership/keys/cluster-keys.ts';
import type { MemberIdentity } from '../../../membership/keys/identity.ts';
import { nextKeyStep } from '../../../membership/keys/key-plan.ts';
import { compareStates, nextPhase, type Progress } from '../../../membership/keys/keyring.ts';
import { type Receiver, type SealedKeyring, withShare } from '../../../membership/keys/seal.ts';
import { pause } from '../../../lib/shared/deadline.ts';
import { type Rest, RestlessLoop } from '../../../lib/restless-loop.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { Changes } from '../../../records/records.ts';
import type { ClusterKeysDocument } from '../../../records/cluster-documents.ts';
import { changedKeys } from './next-keys.ts';

export interface KeyChangeDeps extends Pick<ServiceParts, 'records' | 'cluster' | 'operations' | 'events' | 'log'> {
  readonly keys: ClusterKeys;
  readonly identity: Pick<MemberIdentity, 'current'>;
  /** The member at this address runs an etcd of the cluster, or may do so. */
  readonly runsEtcd: (address: string) => boolean;
  /** Applies the current keys to the etcd connections, and to the etcd of this host. Throws if that is not possible yet. */
  readonly use: () => Promise<void>;
  /** Encrypts again what older keys encrypted. Returns the number of values. */
  readonly renew: (signal: AbortSignal) => Promise<number>;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

const lookEveryMs = { restless: 200, settled: 15_000 };
const restlessMs = 1_000;
/** How long a client waits for the end of a change. */
const endMs = 120_000;
const askEveryMs = 3_000;

export class KeyChange {
  readonly #deps: KeyChangeDeps;
  #loop: RestlessLoop | undefined;
  /** The phase that this member has published. */
  #published: Progress | undefined;
  readonly #closing = new AbortController();
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;

  constructor(deps: KeyChangeDeps) {
    this.#deps = deps;
  }

  get published(): Progress | undefined {
    return this.#published ?? this.#deps.keys.followed;
  }

  /** Why this member does not follow a change of keys; undefined: it does. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Call when the host is a member, and uses its keys. */
  begin(): void {
    this.#published = this.#deps.keys.followed;
    void this.#loop?.stop();
    this.#loop = new RestlessLoop({ look: () => this.#look(), everyMs: lookEveryMs, restlessMs });
    this.look();
  }

  /** Call when the keys or the members may have changed. */
  look(): void {
    this.#loop?.soon();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop?.stop();
  }

  /** The keys for a member that missed the change. Throws AppError. */
  get(): ClusterKeysDocument {
    const found = this.#document;
    if (found === undefined) throw new AppError('notFound', 'This server has no keys of a cluster');
    return found;
  }

  /** Joins the transaction that removes that member. */
  put(changes: Changes, without?: number): void {
    const { keys } = this.#deps;
    const now = this.get();
    const receivers = this.#deps.records.members
      .list()
      .filter(({ document }) => document.number !== without)
      .map(({ document: { number, certificate } }) => ({ number, certificate }));
    changes.put('clusterKeys', 'current', changedKeys(now, keys.open(now), receivers));
  }

  /** For a host that joins as that member. Throws an Error if this member has no share. */
  withShare(document: ClusterKeysDocument, receiver: Receiver): SealedKeyring {
    const keyPem = this.#deps.identity.current?.keyPem ?? '';
    return withShare(document, { number: this.#deps.cluster.members.here, keyPem }, receiver);
  }

  /** An operation that ends when every present member uses new keys. Throws AppError. */
  rotate(caller: Caller): Operation {
    const { cluster, operations, records, events } = this.#deps;
    if (!cluster.isOn) throw errors.notClustered('This server is not part of a cluster');
    return operations.start({
      description: 'Changing the keys of the cluster',
      resources: { cluster: [] },
      run: async () => {
        await records.retry((changes) => this.put(changes));
        this.look();
        await this.untilAllUse();
        events.lifecycle('cluster-certificate-updated', '/1.0/cluster/certificate', caller);
      },
    });
  }

  /** Resolves when every present member uses the newest keys. Throws AppError outcomeUnknown on a timeout; the change continues. */
  async untilAllUse(): Promise<void> {
    const untilMs = this.#deps.nowMs() + endMs;
    this.look();
    while (this.#document !== undefined && this.#document.phase !== 'done') {
      if (this.#deps.nowMs() > untilMs)
        throw errors.outcomeUnknown(
          `The members have not all taken the new keys of the cluster in ${endMs / 1000} s: the change continues, and until it ends a removed member may still reach the records${this.#problem === undefined ? '' : ` (${this.#problem})`}`,
        );
      await pause(lookEveryMs.restless, this.#closing.signal);
    }
  }

  get #document(): ClusterKeysDocument | undefined {
    return this.#deps.records.clusterKeys.get('current')?.document;
  }

  async #look(): Promise<Rest> {
    try {
      const rest = await this.#step();
      this.#problem = undefined;
      return rest;
    } catch (error) {
      const problem = `This member does not follow the change of the keys of the cluster: ${errorText(error)}`;
      if (!this.#closing.signal.aborted && problem !== this.#problem) this.#deps.log.warn(problem);
      this.#problem = problem;
      return 'restless';
    }
  }

  async #step(): Promise<Rest> {
    const { cluster, nowMs } = this.#deps;
    if (this.#closing.signal.aborted) return 'over';
    if (!cluster.isOn) return 'settled';
    if (cluster.heldUntilMs < nowMs()) return await this.#askOthers();
    await this.#notePeers();
    const wanted = this.#document;
    if (wanted === undefined) return 'settled';
    const members = cluster.members.list().map(({ number, isHere, isPresent, present, address }) => ({
      number,
      isPresent,
      followed: isHere ? this.published : present?.keys,
      runsEtcd: this.#deps.runsEtcd(address),
    }));
    const step = nextKeyStep(wanted, this.published, members, cluster.members.here);
    if (step === 'wait') return 'restless';
    if (step === 'follow') await this.#follow(wanted);
    else if (step === 'advance') await this.#advance(wanted);
    else return await this.#finish(wanted);
    return 'restless';
  }

  async #follow(wanted: ClusterKeysDocument): Promise<void> {
    const { keys, use, cluster, log } = this.#deps;
    await keys.take(wanted);
    await keys.follow(wanted);
    await use();
    this.#published = { generation: wanted.generation, phase: wanted.phase };
    log.info(`This member follows the change of the keys of the cluster: ${wanted.generation}, ${wanted.phase}`);
    await cluster.publish();
  }

  async #advance(from: ClusterKeysDocument): Promise<void> {
    const { records } = this.#deps;
    await records.retry((changes) => {
      const now = this.#document;
      if (now?.generation !== from.generation || now.phase !== from.phase) return;
      const phase = nextPhase(now);
      const ended = phase === 'done' ? { trusted: [now.generation], shown: now.generation } : {};
      changes.put('clusterKeys', 'current', { ...now, phase, ...ended });
    });
  }

  /** The first present member encrypts again what older keys encrypted. */
  async #finish(wanted: ClusterKeysDocument): Promise<Rest> {
    if (wanted.rewritten === true || !this.#isFirst) return 'settled';
    const renewed = await this.#deps.renew(this.#closing.signal);
    if (this.#closing.signal.aborted) return 'over';
    await this.#deps.records.retry((changes) => {
      const now = this.#document;
      if (now?.generation === wanted.generation && now.phase === 'done')
        changes.put('clusterKeys', 'current', { ...now, rewritten: true });
    });
    this.#deps.log.info(`The records of the cluster are encrypted with its newest key: ${renewed} were rewritten`);
    return 'settled';
  }

  /** Without its lease, this member may be one that the etcds no longer admit. */
  async #askOthers(): Promise<Rest> {
    const { identity, keys, nowMs, use } = this.#deps;
    if (nowMs() - this.#askedAtMs < askEveryMs || identity.current === undefined) return 'restless';
    this.#askedAtMs = nowMs();
    const found = await askPeers(identity.current, keys.peers);
    // Uses keys now that were taken, but could not be used at once.
    const isUsed = found !== undefined && this.#published !== undefined && compareStates(found, this.#published) <= 0;
    if (found === undefined || isUsed) return 'restless';
    await keys.take(found);
    if (keys.isNewer(found)) await keys.follow(found);
    await use();
    this.#published = { generation: found.generation, phase: found.phase };
    return 'restless';
  }

  async #notePeers(): Promise<void> {
    const { cluster, keys } = this.#deps;
    const peers = cluster.members
      .list()
      .filter(({ isHere }) => !isHere)
      .map(({ name, address, document: { certificate } }) => ({ name, address, certificate }));
    await keys.notePeers(peers);
  }

  get #isFirst(): boolean {
    const { members } = this.#deps.cluster;
    return members.list().every(({ number, isPresent }) => !isPresent || number >= members.here);
  }
}
