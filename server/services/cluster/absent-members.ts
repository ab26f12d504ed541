// Lists the objects of cluster members that do not answer, from the records.
import type { ContainerFull } from '../../api/container/container.ts';
import type { NetworkLease } from '../../api/network/network.ts';
import { dnsName } from '../../api/project/project-names.ts';
import type { StorageVolume } from '../../api/storage/volume.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { Records } from '../../records/records.ts';
import type { ContainerReader } from '../containers/reader.ts';
import { expand } from '../shared/expand.ts';
import { claimsOf } from '../networks/nic-addresses.ts';
import { profilesOf } from '../shared/project-scope.ts';
import type { Pools } from '../storage/pools.ts';
import { VolumeLists } from '../storage/volume-lists.ts';
import { containersWith } from '../shared/used-by.ts';

export interface AbsentMembersDeps {
  readonly records: Records;
  readonly cluster: Pick<Cluster, 'members'>;
  readonly containers: Pick<ContainerReader, 'listFullOf'>;
  readonly pools: Pools;
}

export class AbsentMembers {
  readonly #deps: AbsentMembersDeps;

  constructor(deps: AbsentMembersDeps) {
    this.#deps = deps;
  }

  containers(member: number, project: string | undefined): readonly ContainerFull[] {
    return this.#deps.containers.listFullOf(member, project);
  }

  volumes(
    member: number,
    pool: string,
    project: string | undefined,
    type: string | undefined,
  ): Promise<readonly StorageVolume[]> {
    return this.#lists(member).list(pool, project, type);
  }

  volumeUrls(
    member: number,
    pool: string,
    project: string | undefined,
    type: string | undefined,
  ): Promise<readonly string[]> {
    return this.#lists(member).urls(pool, project, type);
  }

  /** The configured addresses of its containers; only that member knows its dynamic leases. */
  leases(member: number, network: string): readonly NetworkLease[] {
    const records = this.#deps.records.as(member);
    const location = this.#deps.cluster.members.nameOf(member);
    return containersWith(records, 'network', network).flatMap(({ name, document }) => {
      const { devices, config } = expand(document, profilesOf(records, name));
      const claims = claimsOf(name, devices, config).filter((claim) => claim.network === network);
      return claims.flatMap(({ property, device, value }) => {
        const hwaddr = claims.find((claim) => claim.device === device && claim.property === 'hwaddr')?.value;
        if (property === 'hwaddr' || hwaddr === undefined) return [];
        return [{ hostname: dnsName(name), hwaddr, address: value, type: 'static', location }];
      });
    });
  }

  #lists(member: number): VolumeLists {
    const { records, pools, cluster } = this.#deps;
    const location = (): string => cluster.members.nameOf(member);
    return new VolumeLists({ records: records.as(member), pools, location, elsewhere: records });
  }
}
