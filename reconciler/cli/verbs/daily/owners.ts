// Finds the sets that own a live object and renders them as text. Pure.
import type { KindName } from '../../../../server/api/kinds.ts';
import type { Address } from '../../../core/documents/document.ts';
import { hasConfig, recordsIn, type OwnerRecord } from '../../../core/ownership/owner-records.ts';
import { readSetStates } from '../../../core/ownership/set-state.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface Owner {
  readonly set: string;
  /** The repository or folder that declares it. */
  readonly place?: string;
  /** The set created or adopted the object; otherwise it owns some of its keys. */
  readonly isWhole: boolean;
  readonly isProtected: boolean;
}

/** The owner record of each set. `serverConfig` holds the records of kinds without config. */
export function recordsOf(
  kind: KindName,
  name: string,
  live: object,
  serverConfig: Readonly<Record<string, unknown>> = {},
): readonly (readonly [set: string, OwnerRecord])[] {
  const address: Address = `${kind}/${name}`;
  if (hasConfig(kind)) return [...recordsIn(live)];
  return [...readSetStates(serverConfig)].flatMap(([set, { inventory }]) => {
    const record = inventory.get(address);
    return record === undefined ? [] : [[set, record] as const];
  });
}

export const ownersOf = (...object: Parameters<typeof recordsOf>): readonly Owner[] =>
  recordsOf(...object).map(([set, { whole, place, policy }]) => ({
    set,
    isWhole: whole,
    isProtected: policy.protect,
    ...withoutUndefined({ place }),
  }));

/** `set web (declared in laptop:/srv/web)`; without owners `no set`. */
export const ownerText = (owners: readonly Owner[]): string =>
  owners.length === 0
    ? 'no set'
    : owners.map(({ set, place }) => `set ${set}${place === undefined ? '' : ` (declared in ${place})`}`).join(' and ');
