// Adds, promotes and removes etcds of a cluster, and maintains single ones, while the others keep serving.
import { pause } from '../../lib/shared/deadline.ts';
import { EtcdFailure } from '../../store/etcd/failure.ts';
import { EtcdLink, type LinkOptions } from '../../store/etcd/link.ts';
import { Member } from '../../store/etcd/member.ts';
import type { MemberMessage } from '../../store/etcd/messages.ts';
import { storeErrors } from '../../store/store-errors.ts';
import type { EtcdMember } from './voters.ts';

export interface EtcdStatus {
  readonly id: string;
  readonly version: string;
  /** 0: no leader. */
  readonly leader: string;
  readonly isLearner: boolean;
  /** Grows with every change of a key. */
  readonly revision: number;
  readonly sizeBytes: number;
  readonly usedBytes: number;
}

export interface PromoteOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const lookAgainMs = 250;
const promoteMs = 120_000;
/** etcd refuses membership changes for some seconds after a member joined. */
const changeMs = 30_000;
const askMs = 3_000;
/** etcd copies its whole file, which takes this long at most. */
const defragmentMs = 120_000;

export class EtcdMembership {
  readonly #link: EtcdLink;
  readonly #options: LinkOptions;
  readonly #closed = new AbortController();

  /** `endpoints`: some or all of the etcds. */
  constructor(options: LinkOptions) {
    this.#options = options;
    this.#link = new EtcdLink({ totalMs: changeMs, ...options });
  }

  async list(): Promise<readonly EtcdMember[]> {
    return (await this.#call('MemberList', {})).members.map(readMember);
  }

  /** Adds a learner: an etcd that replicates everything and has no vote yet. Idempotent. Returns all etcds of the cluster, which its first
   *  start needs. */
  async addLearner(
    peerAddress: string,
  ): Promise<{ readonly added: EtcdMember; readonly members: readonly EtcdMember[] }> {
    try {
      const { member, members } = await this.#call('MemberAdd', { peerURLs: [url(peerAddress)], isLearner: true });
      return { added: readMember(member), members: members.map(readMember) };
    } catch (error) {
      if (!/(Peer URLs|member ID) already exist/i.test(detailsOf(error)))
        throw inWords(error, `cannot add the etcd at ${peerAddress}`);
      const members = await this.list();
      const added = members.find((member) => member.peerAddress === peerAddress);
      if (added === undefined) throw error;
      return { added, members };
    }
  }

  /** Gives a learner a vote once it has caught up. Idempotent. */
  async promote(id: string, { timeoutMs = promoteMs, signal }: PromoteOptions = {}): Promise<void> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      try {
        await this.#call('MemberPromote', { ID: id });
        return;
      } catch (error) {
        const details = detailsOf(error);
        if (details.endsWith('can only promote a learner member')) return;
        const isBehind = /in sync with leader/.test(details);
        if (!isBehind || performance.now() >= end)
          throw inWords(error, isBehind ? 'the new etcd has not caught up in time' : 'cannot give the new etcd a vote');
      }
      await pause(lookAgainMs, signal);
    }
  }

  /** Removes an etcd, also a dead one. Idempotent. */
  async remove(id: string): Promise<void> {
    try {
      await this.#call('MemberRemove', { ID: id });
    } catch (error) {
      if (/member not found|has been removed|permanently removed/i.test(detailsOf(error))) return;
      throw inWords(error, 'cannot remove an etcd from the cluster');
    }
  }

  /** The status of the etcd at this client address. Throws EtcdFailure if it does not answer. */
  async statusOf(clientAddress: string): Promise<EtcdStatus> {
    const { header, version, leader, isLearner, dbSize, dbSizeInUse } = await this.#ask(clientAddress, (member, over) =>
      member.call('Status', {}, member.metadata(), askMs, over),
    );
    return {
      id: header.memberId,
      version,
      leader,
      isLearner,
      revision: Number(header.revision),
      sizeBytes: Number(dbSize),
      usedBytes: Number(dbSizeInUse),
    };
  }

  /** The leader, according to an etcd that knows one; undefined while it is not in the member list. */
  async leader(): Promise<EtcdMember | undefined> {
    const { leader } = await this.#call('Status', {});
    return (await this.list()).find(({ id }) => id === leader);
  }

  /** Call before a stop: an election takes a second, a handover none. `mayLead`: possible successors. True if it led. */
  async moveLeaderAway(clientAddress: string, mayLead: (member: EtcdMember) => boolean = () => true): Promise<boolean> {
    const { id, leader } = await this.statusOf(clientAddress);
    if (id !== leader) return false;
    for (const other of await this.list()) {
      if (other.id === id || other.isLearner || !mayLead(other) || !(await this.#isReady(other))) continue;
      await this.#ask(clientAddress, (member, over) =>
        member.call('MoveLeader', { targetID: other.id }, member.metadata(), askMs, over),
      );
      return true;
    }
    return false;
  }

  /** Returns unused space of its file; it does not serve during that. */
  async defragment(clientAddress: string): Promise<void> {
    await this.#ask(clientAddress, (member, over) =>
      member.call('Defragment', {}, member.metadata(), defragmentMs, over),
    );
  }

  /** Alarms of all members: `NOSPACE`, `CORRUPT`. */
  async alarms(): Promise<readonly { readonly memberId: string; readonly alarm: string }[]> {
    const { alarms } = await this.#call('Alarm', { action: 'GET' });
    return alarms.filter(({ alarm }) => alarm !== 'NONE').map(({ memberID, alarm }) => ({ memberId: memberID, alarm }));
  }

  /** Removes all history; watchers that are behind re-read everything. */
  async compactAll(): Promise<void> {
    const { header } = await this.#call('Status', {});
    try {
      await this.#call('Compact', { revision: Number(header.revision), physical: true });
    } catch (error) {
      if (!(error instanceof EtcdFailure && error.kind === 'compacted')) throw error;
    }
  }

  async disarmNoSpace(memberId: string): Promise<void> {
    await this.#call('Alarm', { action: 'DEACTIVATE', memberID: memberId, alarm: 'NOSPACE' });
  }

  /** Pending calls fail at once, also those to an etcd that hangs. */
  close(): void {
    this.#closed.abort(storeErrors.closed());
    this.#link.close();
  }

  readonly #call: EtcdLink['call'] = (name, request) => this.#link.call(name, request);

  async #isReady({ clientAddresses }: EtcdMember): Promise<boolean> {
    const [address] = clientAddresses;
    if (address === undefined) return false;
    return await this.statusOf(address).then(
      ({ leader }) => leader !== '0',
      () => false,
    );
  }

  async #ask<T>(clientAddress: string, ask: (member: Member, over: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed.signal.aborted) throw storeErrors.closed();
    const member = new Member(clientAddress, this.#options);
    try {
      return await ask(member, this.#closed.signal);
    } finally {
      member.close();
    }
  }
}

const url = (address: string): string => `https://${address}`;
const addressOf = (text: string): string => text.replace(/^https?:\/\//, '');

const readMember = ({ ID, name, peerURLs, clientURLs, isLearner }: MemberMessage): EtcdMember => {
  return {
    id: ID,
    name,
    peerAddress: addressOf(peerURLs[0] ?? ''),
    clientAddresses: clientURLs.map(addressOf),
    isLearner,
  };
};

/** etcd's own message. */
const detailsOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? error.cause.message : '';

function inWords(error: unknown, what: string): unknown {
  const details = detailsOf(error).replace(/^etcdserver: /, '');
  return details === '' ? error : new Error(`${what}: ${details}`, { cause: error });
}
