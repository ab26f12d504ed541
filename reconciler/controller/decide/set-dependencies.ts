// The order between sets: a set takes a new revision on a host when the sets that it depends on are synced there. Pure.
import type { SetConfig } from '../config/config.ts';

export interface SetWithHosts {
  readonly config: Pick<SetConfig, 'name' | 'dependsOn'>;
  readonly hosts: readonly { readonly name: string; readonly isSynced: boolean }[];
}

/** Why a host must wait with a new revision. A set that is not on the host counts with all of its hosts. */
export function whyHostWaits(
  { dependsOn }: Pick<SetConfig, 'dependsOn'>,
  host: string,
  sets: ReadonlyMap<string, SetWithHosts>,
): string | undefined {
  const unready = dependsOn.filter((name) => {
    const hosts = sets.get(name)?.hosts ?? [];
    const same = hosts.filter((one) => one.name === host);
    return !(same.length > 0 ? same : hosts).every(({ isSynced }) => isSynced);
  });
  return unready.length === 0 ? undefined : `It waits until ${unready.join(' and ')} is synced.`;
}

export const dependentsOf = <T extends SetWithHosts>(name: string, sets: Iterable<T>): readonly T[] =>
  [...sets].filter(({ config }) => config.dependsOn.includes(name));
