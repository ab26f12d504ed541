// Chooses the member for a lost member's containers and volumes: in the containers' group, with the pools and networks that they need.
import type { Cluster } from '../../../membership/cluster.ts';
import type { Member } from '../../../membership/members.ts';
import { membersOf, placeContainer } from '../../../membership/placement.ts';
import { isOwnedBy, volumeIdOf } from '../../../records/record-names.ts';
import type { Records } from '../../../records/records.ts';
import { groupOf } from '../../containers/shared/evacuate-keys.ts';
import { expand, nicNetworks } from '../../shared/expand.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import type { Unit } from './plan.ts';

interface UnitTargetDeps {
  readonly records: Records;
  readonly cluster: Pick<Cluster, 'members'>;
}

/** `coming`: how many more containers each member is about to get. Throws AppError if no member can take the unit. */
export function targetOf(deps: UnitTargetDeps, unit: Unit, lost: number, coming: ReadonlyMap<number, number>): Member {
  const { cluster, records } = deps;
  const begun = begunAt(deps, unit, lost);
  const members = cluster.members.list().filter(({ number }) => number !== lost && (begun ?? number) === number);
  const lostOnes = unit.containers.flatMap((name) => records.others.get('containers', name) ?? []);
  const pools = [
    ...unit.volumes.map((volume) => volumeIdOf(volume).pool),
    ...lostOnes.map(({ document }) => document.pool),
  ];
  const networks = lostOnes.flatMap(({ name, document }) =>
    nicNetworks(expand(document, profilesOf(records, name)).devices),
  );
  const groups = [...new Set(lostOnes.map(({ document }) => groupOf(document.config)))].filter((group) => group !== '');
  const inGroups = groups.reduce<readonly Member[]>((left, group) => membersOf(left, group), members);
  return placeContainer(inGroups, {
    target: groups[0] ?? '',
    architecture: lostOnes[0]?.document.architecture,
    coming: ({ number }) => coming.get(number) ?? 0,
    objection: (member) => {
      const pool = pools.find((each) => !hasReady(records, 'pools', each, member));
      if (pool !== undefined) return `has no storage pool ${pool}`;
      const defined = networks.filter((each) => records.networkDefinitions.has(each));
      const network = defined.find((each) => !hasReady(records, 'networks', each, member));
      return network === undefined ? undefined : `has no network ${network}`;
    },
  });
}

/** The member that has a part of the unit, from an unfinished attempt. */
function begunAt({ records, cluster }: UnitTargetDeps, unit: Unit, lost: number): number | undefined {
  for (const container of unit.containers) {
    const uuid = records.others.get('containers', container)?.document.uuid ?? '';
    const isIts = ({ name }: { readonly name: string }): boolean => isOwnedBy(name, uuid);
    if (records.snapshots.list().some(isIts)) return cluster.members.here;
    const other = [...records.others.list('snapshots')].find((entry) => entry.member !== lost && isIts(entry));
    if (other !== undefined) return other.member;
  }
  return undefined;
}

function hasReady(records: Records, kind: 'pools' | 'networks', name: string, { number, isHere }: Member): boolean {
  if (isHere) return records[kind].get(name)?.document.lifecycle === 'ready';
  return records.others
    .having(kind, name)
    .some((entry) => entry.member === number && entry.document.lifecycle === 'ready');
}
