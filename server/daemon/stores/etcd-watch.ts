// What a member observes of the cluster's etcds: the next change, whether this host has the program, the state of their files.
import { EtcdCare } from '../../membership/etcd/care.ts';
import { etcdQuotaBytes } from '../../membership/etcd/etcd-flags.ts';
import { findEtcd } from '../../membership/etcd/etcd-program.ts';
import type { EtcdMembership } from '../../membership/etcd/membership.ts';
import {
  type EtcdCandidate,
  type EtcdChange,
  type EtcdMember,
  etcdVoters,
  nextEtcdChange,
} from '../../membership/etcd/voters.ts';
import type { Member } from '../../membership/members.ts';
import type { ClusterStore } from '../../membership/membership.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { membershipOf } from './etcd-link.ts';
import type { EtcdNote } from './etcd-note.ts';
import { addressesOf, nameOf, peerOf } from './etcd-place.ts';

/** The next change towards the wanted etcds; undefined: there is none. Pure. */
export function etcdChange(
  members: readonly Member[],
  found: readonly EtcdMember[],
  maxVoters: number,
): EtcdChange | undefined {
  const candidates = members.map((member): EtcdCandidate => {
    const runsEtcd = found.some(({ peerAddress }) => peerAddress === peerOf(member.address));
    const isAvailable = member.isPresent && (runsEtcd || member.present?.hasEtcd !== false);
    return { number: member.number, peerAddress: peerOf(member.address), isAvailable, runsEtcd };
  });
  const isAvailable = ({ peerAddress }: EtcdMember): boolean =>
    candidates.some((candidate) => candidate.peerAddress === peerAddress && candidate.isAvailable);
  return nextEtcdChange(etcdVoters(candidates, maxVoters), found, isAvailable);
}

/** HOST:PORT at which clients reach each etcd with a vote. Pure. */
export const votersOf = (found: readonly EtcdMember[]): readonly string[] =>
  found.filter(({ isLearner }) => !isLearner).flatMap(({ clientAddresses }) => clientAddresses.slice(0, 1));

/** How the etcd of the member at this address first starts beside the others. Pure. */
export function noteOfJoining(address: string, found: readonly EtcdMember[]): EtcdNote {
  const addresses = addressesOf(address);
  const peers = found.map(({ name, peerAddress }) => ({
    name: peerAddress === addresses.peerAddress ? nameOf(address) : name,
    peerAddress,
  }));
  // Another etcd without a name has not started yet: it joins later.
  const started = peers.filter(({ name }) => name !== '');
  return { name: nameOf(address), ...addresses, first: { kind: 'join', peers: started } };
}

interface ProgramLookDeps {
  readonly log: Log;
  /** The program; undefined: the one in PATH. */
  readonly etcdPath: string | undefined;
}

/** How often a missing program is looked for. */
const programEveryMs = 60_000;

export class ProgramLook {
  readonly #deps: ProgramLookDeps;
  #missing: string | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ProgramLookDeps) {
    this.#deps = deps;
  }

  /** Why it cannot run; undefined: it can, or it was not checked yet. */
  get missing(): string | undefined {
    return this.#missing;
  }

  async look(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs < programEveryMs) return;
    const missing = await findEtcd(this.#deps.etcdPath).then(() => undefined, errorText);
    if (missing !== undefined && missing !== this.#missing)
      this.#deps.log.warn(`This member keeps no copy of the records of the cluster: ${missing}`);
    this.#missing = missing;
    this.#lookedAtMs = nowMs;
  }
}

/** Maintains the files of the etcds over a separate connection. */
export class StoreCare {
  readonly #log: Log;
  #care: { readonly of: EtcdCare; readonly link: EtcdMembership } | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  get warnings(): readonly string[] {
    return this.#care?.of.warnings ?? [];
  }

  /** Does nothing if it has begun. */
  async begin(store: ClusterStore): Promise<void> {
    if (this.#care !== undefined) return;
    const link = await membershipOf(store);
    this.#care = { link, of: new EtcdCare({ membership: link, quotaBytes: etcdQuotaBytes, log: this.#log }) };
  }

  async runNow(store: ClusterStore): Promise<void> {
    await this.begin(store);
    await this.#care?.of.run();
  }

  async end(): Promise<void> {
    const ended = this.#care;
    this.#care = undefined;
    const stopped = ended?.of.stop();
    // Its pending calls fail at once, also to an etcd that hangs.
    ended?.link.close();
    await stopped;
  }
}
