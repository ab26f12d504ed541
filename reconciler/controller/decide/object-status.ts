// The objects of a set on one host, as the API shows them, from its plan. Pure.
import type { Document } from '../../core/documents/document.ts';
import type { Plan, ResourceChange } from '../../core/plan/plan.ts';
import { isForWindow, isGate, refusalText, remedyOf } from './restrain.ts';
import type { ObjectCounts, ObjectStatusName, ObjectSummary } from '../contract/index.ts';
import { namesText } from '../../../server/api/text/names-text.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface ObjectView {
  readonly set: string;
  readonly host: string;
  readonly plan: Plan;
  readonly documents: readonly Document[];
  readonly needs: ReadonlyMap<string, readonly string[]>;
  /** Reasons, by address. */
  readonly suspended: ReadonlyMap<string, string>;
  /** Why its last step failed, by address. */
  readonly failed: ReadonlyMap<string, string>;
  /** Addresses whose drift is only reported, so that they stay drifted. */
  readonly reported: ReadonlySet<string>;
  /** Paths of suspended objects that drifted, by address. */
  readonly suspendedDrift?: ReadonlyMap<string, readonly string[]>;
  /** Why the whole host waits, including objects that cannot be planned yet. */
  readonly waits?: string;
  /** No window for disruptive changes is open. */
  readonly isCalm?: boolean;
  readonly isSyncing: boolean;
}

export function objectsOf(view: ObjectView): ReadonlyMap<string, ObjectSummary> {
  const projects = new Map(view.documents.map(({ address, project }) => [address as string, project]));
  return new Map(
    view.plan.changes.map((change): readonly [string, ObjectSummary] => {
      const { address, kind, name } = change;
      const { status, message } = statusOf(change, view);
      const project = projects.get(address);
      const summary: ObjectSummary = {
        host: view.host,
        address,
        kind,
        name,
        ...withoutUndefined({ project }),
        status,
        dependsOn: [...(view.needs.get(address) ?? [])],
        ...withoutUndefined({ message }),
      };
      return [address, summary];
    }),
  );
}

interface Status {
  readonly status: ObjectStatusName;
  readonly message?: string;
}

function statusOf(change: ResourceChange, view: ObjectView): Status {
  const { address, guard } = change;
  const reason = view.suspended.get(address);
  const drifted = view.suspendedDrift?.get(address);
  if (reason !== undefined) return { status: 'suspended', message: withDrift(reason, drifted) };
  const failure = view.failed.get(address);
  if (failure !== undefined) return { status: 'failed', message: failure };
  if (guard !== undefined && view.isCalm === true && isForWindow(guard))
    return {
      status: 'waiting',
      message: `${refusalText(guard, true, view.set)}: it waits for a window for disruptive changes`,
    };
  if (guard !== undefined && view.waits !== undefined && guard.code === 'invalid')
    return { status: 'waiting', message: view.waits };
  if (guard !== undefined && isGate(guard, view.isCalm === true))
    return { status: 'waiting', message: refusalText(guard, false, view.set) };
  if (guard?.code === 'dependency') return { status: 'waiting', message: guard.message };
  if (guard !== undefined) return { status: 'failed', message: `${guard.message}: ${remedyOf(guard)}` };
  const isSame = change.action === 'no-op' && change.power === undefined && !view.reported.has(address);
  if (isSame || change.isTakeover === true) return { status: 'synced' };
  if (view.isSyncing) return { status: 'syncing' };
  return change.action === 'create' ? { status: 'missing' } : { status: 'drifted' };
}

function withDrift(reason: string, drifted: readonly string[] = []): string {
  if (drifted.length === 0) return reason;
  const named = drifted.map((path) => (path === '' ? 'the object' : path));
  return `${reason}; drifted: ${namesText(named)}`;
}

export function countsOf(objects: Iterable<ObjectSummary>): ObjectCounts {
  const counts = { total: 0, synced: 0, drifted: 0, failed: 0 };
  let undeclared = 0;
  for (const { status } of objects) {
    if (status === 'undeclared') {
      undeclared += 1;
      continue;
    }
    counts.total += 1;
    if (status === 'synced') counts.synced += 1;
    if (status === 'drifted' || status === 'missing') counts.drifted += 1;
    if (status === 'failed') counts.failed += 1;
  }
  return undeclared === 0 ? counts : { ...counts, undeclared };
}

/** Only the objects that listeners have not received yet. */
export function changedObjects(
  before: ReadonlyMap<string, ObjectSummary>,
  after: ReadonlyMap<string, ObjectSummary>,
): { readonly changed: readonly ObjectSummary[]; readonly gone: readonly ObjectSummary[] } {
  const changed = [...after.values()].filter((one) => {
    const known = before.get(one.address);
    if (known?.status !== one.status || known.message !== one.message) return true;
    return known.dependsOn.join() !== one.dependsOn.join();
  });
  return { changed, gone: [...before.values()].filter(({ address }) => !after.has(address)) };
}
