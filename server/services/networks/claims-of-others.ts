// Finds other containers with a recorded address that one container claims.
import type { Records } from '../../records/records.ts';
import type { ContainerView } from '../shared/container-view.ts';
import { containersWith } from '../shared/used-by.ts';
import { claimsOf, isSameAddress, type Claim } from './nic-addresses.ts';

/** Other containers' claims for the same addresses, running or not. `own` belongs to one container. Reads only the containers of its
 *  networks: a start must not slow down with the number of containers elsewhere. */
export function claimsOfOthers(
  records: Records,
  view: Pick<ContainerView, 'expanded'>,
  own: readonly Claim[],
): readonly Claim[] {
  const networks = [...new Set(own.map(({ network }) => network))];
  const there = new Map(
    networks.flatMap((network) => containersWith(records, 'network', network).map((entry) => [entry.name, entry])),
  );
  return [...there.values()].flatMap((entry) => {
    if (entry.name === own[0]?.container) return [];
    const { devices, config } = view.expanded(entry);
    return claimsOf(entry.name, devices, config).filter((claim) => own.some((mine) => isSameAddress(mine, claim)));
  });
}
