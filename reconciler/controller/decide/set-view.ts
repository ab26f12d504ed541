// Derives the status of a set from its hosts. Pure.
import type { SetConfig } from '../config/config.ts';
import type { ApprovalStatus, SetHostStatus, SetStatus, SetStatusName, Suspension } from '../contract/index.ts';
import { approvalGateOf, waitingPlans, type Approval, type WaitingHost } from './approval.ts';
import { gateOf, type GatedHost } from './prune-gate.ts';
import type { SetState } from './set-state.ts';
import { short } from './short-revision.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** The worst first. */
const order: readonly SetStatusName[] = ['failed', 'syncing', 'waiting', 'drifted', 'unknown', 'suspended', 'synced'];

export interface HostOfSet extends GatedHost, WaitingHost {
  readonly status: SetHostStatus;
  /** True if it is synced to this revision. */
  has(revision: string | undefined): boolean;
  /** When changes are next allowed; undefined: now. */
  readonly nextOpenMs: number | undefined;
}

export interface SetFacts {
  readonly config: SetConfig;
  readonly state: SetState;
  readonly hosts: readonly HostOfSet[];
  readonly suspensions: readonly Suspension[];
  readonly problems: readonly string[];
  readonly message: string | undefined;
  /** A check or a hook stopped its rollout. */
  readonly isStopped?: boolean;
  readonly approvals: readonly Approval[];
  /** Makes an opaque name for a plan. */
  readonly planOf: (text: string) => string;
}

export function statusOfSet(facts: SetFacts): SetStatus {
  const { config, state, hosts: on, suspensions, problems, message, approvals, isStopped } = facts;
  const { current, pin } = state;
  const hosts = on.map(({ status }) => status);
  const revision = pin?.revision ?? current?.revision;
  // Hosts that wait for their batch are in sync with what they had before.
  const isBehind = on.some((host) => !host.has(revision) && (pin?.hosts?.includes(host.name) ?? true));
  const found = order.find((one) => hosts.some((host) => host.status === one)) ?? 'unknown';
  const worst = found === 'synced' && isBehind ? 'syncing' : found;
  const status = isStopped === true && (found === 'synced' || found === 'unknown') ? 'failed' : worst;
  const opens = on.flatMap(({ nextOpenMs }) => nextOpenMs ?? []);
  const pinned = pin === undefined ? undefined : `Held at ${short(pin.revision)} by ${pin.by}: ${pin.reason}`;
  const broken =
    problems.length === 0 ? undefined : 'The newest revision has errors; the last good one stays in force.';
  const leaving =
    config.isLeaving === true
      ? `The generator ${config.generator ?? ''} makes it no more: what it owns is deleted, then it ends.`
      : undefined;
  const gate = gateOf(revision, on);
  const approvalGate = approvalGateOf(waitingPlans(revision, on), facts.planOf);
  const waits = approvalGate && hosts.find(({ host }) => host === approvalGate.hosts[0]?.host)?.error;
  const why = waits ?? pinned ?? message ?? broken ?? hosts.find((host) => host.status === status)?.error ?? leaving;
  return {
    name: config.name,
    source: config.source,
    ...(config.path === '.' ? {} : { path: config.path }),
    mode: config.mode,
    status,
    ...withoutUndefined({ revision, message: why }),
    problems: [...problems],
    hosts,
    suspensions: [...suspensions],
    ...(opens.length === 0 ? {} : { nextWindow: new Date(Math.min(...opens)).toISOString() }),
    dependsOn: [...config.dependsOn],
    ...withoutUndefined({ pruneGate: gate, approvalGate }),
    ...(approvals.length === 0 ? {} : { approvals: approvals.map(statusOfApproval) }),
  };
}

export const statusOfApproval = ({ id, revision, by, reason, at, until, hosts }: Approval): ApprovalStatus => ({
  id,
  revision,
  by,
  reason,
  at,
  until,
  ...(hosts === undefined ? {} : { hosts: [...hosts] }),
});

/** True once each host was compared or has a reason why it cannot be. */
export const wasLookedAt = (
  { hosts, problems }: Pick<SetStatus, 'hosts' | 'problems'>,
  sourceError: string | undefined,
  isOffline: (host: string) => boolean,
): boolean =>
  problems.length > 0 ||
  sourceError !== undefined ||
  hosts.every(({ host, status }) => status !== 'unknown' || isOffline(host));

/** A rollback is shown as a suspension: resuming the set ends it. */
export function suspensionOfPin(set: string, { pin }: SetState): readonly Suspension[] {
  if (pin === undefined) return [];
  const { revision, reason, by, since, hosts } = pin;
  const where = hosts === undefined ? '' : ` on ${hosts.join(', ')}`;
  return [{ id: 'rollback', set, reason: `held at ${short(revision)}${where}: ${reason}`, by, since }];
}

/** Why the whole set is suspended; undefined if it is not, or only in part. */
export function suspensionOfSet(
  { suspended }: Pick<SetConfig, 'suspended'>,
  suspensions: readonly Suspension[],
): string | undefined {
  return suspended ?? suspensions.find(({ host, address }) => host === undefined && address === undefined)?.reason;
}
