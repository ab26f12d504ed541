// Divides the differences on a host into changes of the newest manifests and drift, and decides what to do about each. Pure.
import type { DriftObject, DriftReport } from '../../core/drift/drift.ts';
import type { Address, IgnoreRule } from '../../core/documents/document.ts';
import type { HostFacts } from '../../core/documents/host-pattern.ts';
import type { DriftRecord, Suspension } from '../contract/index.ts';
import type { DriftRules } from './drift-rules.ts';
import { noRestraint, type Restraint } from './restrain.ts';
import { ofObject } from './suspensions.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export type DriftOutcome = DriftRecord['action'];

export interface DriftFinding {
  readonly object: { readonly address: Address; readonly differences: readonly { readonly path: string }[] };
  readonly action: DriftOutcome;
}

export interface DriftJudgement {
  readonly drift: readonly DriftFinding[];
  /** Keeps the plan from changing objects and paths whose drift is only reported or ignored. */
  readonly held: Pick<Restraint, 'objects' | 'paths'>;
  /** Addresses whose drift is only reported. */
  readonly reported: ReadonlySet<string>;
}

export interface JudgeInput {
  readonly report: DriftReport;
  readonly rules: DriftRules;
  readonly host: HostFacts;
  /** The host does not have the revision yet, which then explains differences without a known cause. */
  readonly isNew: boolean;
  /** The difference was drift before this revision came. */
  readonly wasDrift: (address: string, path: string) => boolean;
}

export function judgeDrift({ report, rules, host, isNew, wasDrift }: JudgeInput): DriftJudgement {
  const drift: DriftFinding[] = [];
  const objects = new Map<string, string>();
  const paths = new Map<string, IgnoreRule[]>();
  const reported = new Set<string>();
  for (const object of report.objects) {
    if (object.what === 'outside') continue;
    const { address } = object;
    const outside = object.differences.filter(
      ({ cause, path }) => cause === 'outside' || (cause === 'unknown' && (!isNew || wasDrift(address, path))),
    );
    const byAction = {
      heal: [] as DriftObject['differences'][number][],
      report: [] as DriftObject['differences'][number][],
      ignore: [] as DriftObject['differences'][number][],
    };
    for (const one of outside) byAction[rules.actionFor(host, address, one.path)].push(one);
    for (const action of ['report', 'ignore'] as const)
      for (const { path } of byAction[action]) {
        const reason = action === 'report' ? 'drift is only reported' : 'drift is ignored';
        if (path === '') objects.set(address, reason);
        else paths.set(address, [...(paths.get(address) ?? []), { path, reason }]);
        if (action === 'report') reported.add(address);
      }
    if (byAction.heal.length > 0) drift.push({ object: { address, differences: byAction.heal }, action: 'healing' });
    else if (byAction.report.length > 0)
      drift.push({ object: { address, differences: byAction.report }, action: 'reported' });
  }
  return { drift, held: { objects, paths }, reported };
}

/** The restraint of suspended objects and fields. */
export function suspendedOn(
  suspensions: readonly Suspension[],
  host: string,
  addresses: Iterable<string>,
): Pick<Restraint, 'objects' | 'paths'> {
  const objects = new Map<string, string>();
  const paths = new Map<string, IgnoreRule[]>();
  if (suspensions.length === 0) return { objects, paths };
  for (const address of addresses)
    for (const { path, reason, until } of ofObject(suspensions, host, address)) {
      if (path === undefined) objects.set(address, reason);
      else
        paths.set(address, [
          ...(paths.get(address) ?? []),
          { path, reason: `suspended: ${reason}`, ...withoutUndefined({ until }) },
        ]);
    }
  return { objects, paths };
}

export function joinedRestraint(...parts: readonly Partial<Restraint>[]): Restraint {
  const objects = new Map<string, string>();
  const paths = new Map<string, readonly IgnoreRule[]>();
  for (const part of parts) {
    for (const [address, reason] of part.objects ?? []) objects.set(address, reason);
    for (const [address, rules] of part.paths ?? []) paths.set(address, [...(paths.get(address) ?? []), ...rules]);
  }
  return { ...noRestraint, ...Object.assign({}, ...parts), objects, paths } as Restraint;
}
