// Finds differences between the live objects, the documents and the state after the set's last apply, with their cause as far as
// the hashes in the owner records show it. A drift report has only facts, no steps. Pure.
import { statusCodes } from '../../../server/api/status.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import { bareDocument } from '../documents/bare-document.ts';
import { recordsOf } from '../diff/decide-ownership.ts';
import type { Change } from '../documents/change.ts';
import type { Address, Document, IgnoreRule, Json, JsonObject } from '../documents/document.ts';
import { valueAt } from '../plan/apply-edits.ts';
import { parseIgnore } from '../ownership/ignored-paths.ts';
import { isUnreadObject } from '../live/away-members.ts';
import { isAside } from '../live/image-updates.ts';
import { pathText } from '../documents/inside.ts';
import { coreKind, coreKinds } from '../kinds/index.ts';
import type { Observed } from '../documents/observed.ts';
import { compareText } from '../text/listing-order.ts';
import { hashOf, pathsOf, type Path } from '../ownership/owner-records.ts';
import type { Plan, ResourceChange, SetOwner } from '../plan/plan.ts';
import type { LifecycleChange } from './lifecycle-changes.ts';
import { isSecret } from '../documents/secret.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** outside: another user changed it since the last apply. manifest: the document changed. unknown: never applied, or not recorded. */
export type DriftCause = 'outside' | 'manifest' | 'unknown';

export interface DriftDifference {
  /** Dotted; `state` for running or stopped, empty for the object as a whole. */
  readonly path: string;
  /** The path as keys; absent when no document declares it. */
  readonly segments?: readonly string[];
  readonly cause: DriftCause;
  /** undefined = absent. In clear: only rendered output is masked. */
  readonly live: Json | undefined;
  /** undefined = must be absent. */
  readonly declared: Json | undefined;
  readonly secret: boolean;
}

export interface DriftObject {
  readonly address: Address;
  /** missing: declared and not on the server. differs: from its document. outside: no longer declared and changed since the last apply. */
  readonly what: 'missing' | 'differs' | 'outside';
  readonly differences: readonly DriftDifference[];
  /** The latest observed event of the object since the last apply. */
  readonly seen?: LifecycleChange;
}

export interface DriftReport {
  readonly set: string;
  /** In the order of plans. */
  readonly objects: readonly DriftObject[];
  /** Owned by the set and no longer declared: not a difference by themselves. */
  readonly undeclared: readonly Address[];
  /** Differences that a valid rule hides. */
  readonly ignored: readonly DriftIgnored[];
  readonly checked: number;
}

export interface DriftIgnored extends DriftDifference {
  readonly address: Address;
  readonly rule: IgnoreRule;
}

export interface DriftInput {
  readonly plan: Plan;
  readonly observed: Observed;
  readonly owner: SetOwner;
  /** As in `manage.ignore`, for paths, `kind/name`, or `kind/name.path`. */
  readonly ignore?: readonly IgnoreRule[];
  readonly seen?: ReadonlyMap<Address, LifecycleChange>;
}

export function findDrift({ plan, observed, owner, ignore = [], seen }: DriftInput): DriftReport {
  const rules = parseIgnore(ignore);
  const hiding = (address: Address, path: string): IgnoreRule | undefined =>
    rules.find(({ test }) => test(path) || test(address) || test(`${address}.${path}`))?.rule;
  const declared = plan.changes.flatMap((change) => objectOf(change) ?? []);
  const touched = plan.orphans.flatMap((address) => touchedOutside(address, observed, owner) ?? []);
  const ignored = plan.changes.flatMap(ignoredByManifest);
  const objects = [...declared, ...touched].flatMap((object): DriftObject[] => {
    const differences = object.differences.filter((one) => {
      const rule = hiding(object.address, one.path);
      if (rule !== undefined) ignored.push({ ...one, address: object.address, rule });
      return rule === undefined;
    });
    const last = seen?.get(object.address);
    return differences.length === 0 ? [] : [{ ...object, differences, ...withoutUndefined({ seen: last }) }];
  });
  const checked = plan.changes.length + plan.orphans.length;
  return { set: owner.set, objects, undeclared: plan.orphans, ignored, checked };
}

const ignoredByManifest = ({ address, ignored = [] }: ResourceChange): DriftIgnored[] =>
  ignored.map(({ rule, ...edit }) => ({ ...differenceOf(edit), address, rule }));

function objectOf(change: ResourceChange): DriftObject | undefined {
  const { address } = change;
  if (change.action === 'create') {
    const whole: DriftDifference = { path: '', cause: 'unknown', live: undefined, declared: null, secret: false };
    return { address, what: 'missing', differences: [whole] };
  }
  const differences = change.changes.map(differenceOf);
  const power = powerOf(change);
  const all = power === undefined ? differences : [...differences, power];
  return all.length === 0 ? undefined : { address, what: 'differs', differences: all };
}

function differenceOf(edit: Change): DriftDifference {
  const cause = edit.origin === 'drift' ? 'outside' : (edit.origin ?? 'unknown');
  return {
    path: edit.path,
    segments: edit.segments,
    cause,
    live: edit.before,
    declared: edit.after,
    secret: edit.secret,
  };
}

/** A restart is a consequence of other differences. A container without values may differ in anything. */
function powerOf({ kind, power, action, live: object }: ResourceChange): DriftDifference | undefined {
  if (object !== undefined && isUnreadObject(kind, object))
    return { path: 'state', cause: 'unknown', live: 'error', declared: 'running or stopped', secret: false };
  if (power === undefined || power === 'restart' || action === 'replace') return undefined;
  const now = (object as JsonObject | undefined)?.['status_code'] === statusCodes.frozen ? 'frozen' : undefined;
  const [live, declared] = power === 'start' ? [now ?? 'stopped', 'running'] : [now ?? 'running', 'stopped'];
  return { path: 'state', cause: 'unknown', live, declared, secret: false };
}

/** Without a document only the hashes show a difference. */
function touchedOutside(address: Address, observed: Observed, owner: SetOwner): DriftObject | undefined {
  const [kind, document] = apart(address);
  const live = coreKind(kind).live(observed, document.name)?.object as JsonObject | undefined;
  const record = live === undefined || isAside(live) ? undefined : recordsOf(document, live, observed).get(owner.set);
  if (live === undefined || record === undefined) return undefined;
  const differences = pathsOf(record.keys)
    .filter((path) => !isAsApplied(path, valueAt(live, path), valueAt(record.keys, path), owner))
    .map((path): DriftDifference => {
      const value = valueAt(live, path);
      return {
        path: pathText(path),
        cause: 'outside',
        live: value,
        declared: undefined,
        secret: isSecret(path, value, record.secrets),
      };
    })
    .sort((a, b) => compareText(a.path, b.path));
  return differences.length === 0 ? undefined : { address, what: 'outside', differences };
}

/** The record holds `auto` as it was written, the live object the value that the server picked. */
const isAsApplied = (path: Path, live: Json | undefined, recorded: Json | undefined, { hash }: SetOwner): boolean =>
  [live, 'auto'].some((value) => hashOf(hash, path, value) === recorded);

function apart(address: Address): readonly [KindName, Document] {
  const kind = (Object.keys(coreKinds) as KindName[]).find((one) => address.startsWith(`${one}/`)) ?? 'container';
  return [kind, bareDocument(kind, address.slice(kind.length + 1))];
}
