// Predicts what the next apply of each set does with values that were changed by hand. Pure.
import type { OwnedTree, OwnerRecord } from '../../../core/ownership/owner-records.ts';

/** One line per set that declares a part of the object. */
export function nextApplyTexts(
  address: string,
  records: readonly (readonly [set: string, OwnerRecord])[],
  before: object,
  after: object,
): readonly string[] {
  return records.map(([set, { keys, place }]) => {
    const changed = changedPaths(keys, before, after);
    const where = `set ${set}${place === undefined ? '' : ` (declared in ${place})`}`;
    return changed.length === 0
      ? `${address} belongs to ${where}, which does not declare what changed: its next apply leaves it, unless its manifest says manage.mode: exact`
      : `${address} belongs to ${where}, which declares ${changed.join(', ')}: its next apply sets ${
          changed.length === 1 ? 'it' : 'them'
        } back. Change the manifest to keep the new ${changed.length === 1 ? 'value' : 'values'}`;
  });
}

function changedPaths(owned: OwnedTree, before: unknown, after: unknown): readonly string[] {
  return Object.entries(owned).flatMap(([key, below]) => {
    const [old, now] = [memberOf(before, key), memberOf(after, key)];
    if (typeof below !== 'string') return changedPaths(below, old, now).map((path) => `${key}.${path}`);
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [key];
  });
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;
