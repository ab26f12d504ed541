// Decides after a comparison on one host: changes are made now, or the host gets a status that says why none are. Pure.
import type { SetStatusName } from '../contract/index.ts';

/** Why a host may not be changed now. */
export interface Hindrance {
  readonly why: string;
  /** It is for people to end: a rollout continues without the host. */
  readonly isAway: boolean;
}

export interface HostFacts {
  /** Why the set is suspended on the host: by people, or by the configuration. */
  readonly suspended: Hindrance | undefined;
  readonly steps: number;
  /** Why guards refuse parts of the plan. */
  readonly refusals: readonly string[];
  /** A plan of which parts are refused may be carried out. */
  readonly allowsPartial: boolean;
  /** Those that errors of documents cause: people see them also while the set is suspended. */
  readonly errors: readonly string[];
  /** All that is refused waits for the window of disruptive changes. */
  readonly waitsForWindow: boolean;
  /** All that is refused waits for another object, or for the approval of a person. */
  readonly waitsForOther: boolean;
  /** What a second person must approve first; undefined: nothing. */
  readonly awaitsApproval: string | undefined;
  readonly hasReportedDrift: boolean;
  /** Time until a window for disruptive changes opens. 0: it is open. Infinity: none opens. */
  readonly calmMs: number;
  /** The same for a window for any change. */
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
      /** `settled`: nothing is left to change. `refused`: guards stand in the way. `hindered`: the changes must wait. */
      readonly kind: 'suspended' | 'settled' | 'refused' | 'hindered';
      readonly status: SetStatusName;
      readonly why?: string;
      /** Rollouts go on without the host. */
      readonly isAway?: true;
      /** The plan waits until somebody approves it. */
      readonly isForApproval?: true;
      /** Time until a window opens. */
      readonly opensInMs?: number;
      /** The host waits for the next try, and is as the last one left it. */
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
  return { kind: 'settled', status: facts.hasReportedDrift ? 'drifted' : 'synced' };
}

/** What a set lacks may be what these sets bring. */
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
