// Decides after a comparison whether a host is changed now, or which status says why not. Pure.
import type { SetStatusName } from '../contract/index.ts';

/** Why a host may not be changed now. */
export interface Hindrance {
  readonly why: string;
  /** Only a person can end it: a rollout continues without the host. */
  readonly isAway: boolean;
}

export interface HostFacts {
  /** Why the set is suspended on the host, by a person or by the configuration. */
  readonly suspended: Hindrance | undefined;
  readonly steps: number;
  /** Why guards refuse parts of the plan. */
  readonly refusals: readonly string[];
  /** A plan with refused parts may be carried out. */
  readonly allowsPartial: boolean;
  /** Refusals caused by errors in documents: shown even while the set is suspended. */
  readonly errors: readonly string[];
  /** All refused parts wait for the window of disruptive changes. */
  readonly waitsForWindow: boolean;
  /** All refused parts wait for another object or for an approval. */
  readonly waitsForOther: boolean;
  /** The part that a second person must approve first; undefined: none. */
  readonly awaitsApproval: string | undefined;
  readonly hasReportedDrift: boolean;
  /** The object that is left alone for now, and why; undefined: none. */
  readonly resting?: string | undefined;
  /** Time until disruptive changes are allowed. 0: now. Infinity: never. */
  readonly calmMs: number;
  /** Time until any change is allowed. */
  readonly closedMs: () => number;
  /** Sets that must be synced before. */
  readonly waitsFor: () => Hindrance | undefined;
  /** Time until the next try after a failure, and that failure. */
  readonly retryMs: number;
  readonly lastError: string | undefined;
}

export type Verdict =
  | { readonly kind: 'apply' }
  | {
      /** `settled`: nothing is left to change. `refused`: guards refuse the changes. `hindered`: the changes must wait. */
      readonly kind: 'suspended' | 'settled' | 'refused' | 'hindered';
      readonly status: SetStatusName;
      readonly why?: string;
      /** Rollouts continue without the host. */
      readonly isAway?: true;
      /** The plan waits for an approval. */
      readonly isForApproval?: true;
      /** Time until a window opens. */
      readonly opensInMs?: number;
      /** The host waits for the next try after a failed one. */
      readonly isRetry?: true;
    };

export function verdictOn(facts: HostFacts): Verdict {
  const { suspended, steps, refusals, errors, allowsPartial } = facts;
  if (suspended !== undefined) {
    const why = [suspended.why, ...errors.slice(0, 1)].join('; ');
    return { kind: 'suspended', status: 'suspended', ...textOf({ ...suspended, why }) };
  }
  if (facts.awaitsApproval !== undefined)
    return neededSets(facts) ?? { kind: 'hindered', status: 'waiting', why: facts.awaitsApproval, isForApproval: true };
  const canApply = steps > 0 && (refusals.length === 0 || allowsPartial);
  if (canApply) return hindranceOf(facts) ?? { kind: 'apply' };
  if (refusals.length > 0) return neededSets(facts) ?? refused(facts);
  if (facts.resting !== undefined) return { kind: 'settled', status: 'drifted', why: facts.resting };
  return { kind: 'settled', status: facts.hasReportedDrift ? 'drifted' : 'synced' };
}

/** Objects that a set misses may come from the sets that it waits for. */
function neededSets({ waitsFor }: HostFacts): Verdict | undefined {
  const needed = waitsFor();
  return needed === undefined ? undefined : { kind: 'hindered', status: 'waiting', ...textOf(needed) };
}

function refused({ refusals, waitsForWindow, waitsForOther, calmMs }: HostFacts): Verdict {
  const why = refusals.slice(0, 3).join('; ');
  const opens = calmMs > 0 ? opening(calmMs) : {};
  if (waitsForOther && !waitsForWindow) return { kind: 'refused', status: 'waiting', why, ...opens };
  return waitsForWindow
    ? { kind: 'refused', status: 'waiting', why: `Waits for a window for disruptive changes: ${why}`, ...opens }
    : { kind: 'refused', status: 'failed', why: `Refused: ${why}`, ...opens };
}

function hindranceOf(facts: HostFacts): Verdict | undefined {
  const { closedMs, retryMs, lastError } = facts;
  const waiting = { kind: 'hindered', status: 'waiting' } as const;
  const opensMs = closedMs();
  if (opensMs > 0) return { ...waiting, why: 'No window for changes is open.', ...opening(opensMs) };
  const needed = neededSets(facts);
  if (needed !== undefined) return needed;
  if (retryMs > 0)
    return {
      kind: 'hindered',
      status: 'failed',
      why: lastError ?? 'It failed and is tried again later.',
      isRetry: true,
    };
  return undefined;
}

const textOf = ({ why, isAway }: Hindrance): { readonly why: string; readonly isAway?: true } =>
  isAway ? { why, isAway } : { why };

const opening = (ms: number): { readonly opensInMs?: number } => (Number.isFinite(ms) ? { opensInMs: ms } : {});
