// The use cases of a cluster: its members, keys and certificate, objects of all members, moves and healing.
import type { Foundation } from '../foundation.ts';
import type { Common } from './common.ts';
import type { ContainerParts } from './containers.ts';
import type { Attempts } from '../../lib/shared/attempts.ts';
import { dialChannel } from '../../http/dial-channel.ts';
import { AbsentMembers } from '../../services/cluster/absent-members.ts';
import { CertificateChange } from '../../services/cluster/certificate/certificate-change.ts';
import { ClusterMembership } from '../../services/cluster/cluster-membership.ts';
import { ClusterObjects } from '../../services/cluster/cluster-objects.ts';
import { Restarts } from '../../services/cluster/healing/restarts.ts';
import { Healing } from '../../services/cluster/healing/healing.ts';
import { KeyChange } from '../../services/cluster/keys/key-change.ts';
import { MemberCopies } from '../../services/cluster/member-copies.ts';
import { MemberGroups } from '../../services/cluster/member-groups.ts';
import { MemberSettings } from '../../services/cluster/member-settings.ts';
import { MemberVolumes } from '../../services/cluster/member-volumes.ts';
import { Placing } from '../../services/cluster/placing.ts';
import { networkRealisation, poolRealisation } from '../../services/cluster/realisations.ts';
import type { MemberImages } from '../../services/images/member-images.ts';
import type { Networks } from '../../services/networks/networks.ts';
import type { StoragePools } from '../../services/storage/storage-pools.ts';

export interface ClusterParts {
  readonly architecture: string;
  readonly attempts: Attempts;
  readonly containerParts: ContainerParts;
  readonly images: MemberImages;
  readonly networks: Networks;
  readonly storagePools: StoragePools;
}

export function composeCluster(base: Foundation, common: Common, stateDir: string, parts: ClusterParts) {
  const { cluster, records, events, clock, log } = base;
  const { containers, containerDeps } = parts.containerParts;
  const certificate = (): string => base.certificates.current.certPem;
  const nowMs = (): number => performance.now();
  const inCluster = { records, cluster, log };
  const keyChange = composeKeyChange(base, common);
  const clusterMembership = composeMembership(base, common, stateDir, { ...parts, keyChange });
  return {
    absentMembers: new AbsentMembers({ records, cluster, containers, pools: common.pools }),
    certificateChange: new CertificateChange({
      ...common,
      stateDir,
      cluster,
      certificates: base.certificates,
      version: base.release,
      nowMs,
    }),
    clusterMembership,
    moveDeps: { ...containerDeps, cluster, dial: dialChannel, certificate },
    clusterNetworks: new ClusterObjects({ ...inCluster, on: networkRealisation(inCluster, parts.networks) }),
    clusterPools: new ClusterObjects({ ...inCluster, on: poolRealisation(inCluster, parts.storagePools) }),
    restarts: new Restarts(containerDeps),
    healing: new Healing({ ...common, cluster, nowMs }),
    keyChange,
    memberCopies: new MemberCopies({ records, cluster, certificate }),
    memberGroups: new MemberGroups({ records, cluster, events }),
    memberSettings: new MemberSettings({ records, events, shown: (name) => clusterMembership.member(name).object }),
    memberVolumes: new MemberVolumes({ ...common, cluster, certificate }),
    placing: new Placing({ records, cluster, nowMs: () => clock.nowMs() }),
  };
}

function composeKeyChange(base: Foundation, common: Common): KeyChange {
  return new KeyChange({
    ...common,
    cluster: base.cluster,
    keys: base.keys,
    identity: base.identity,
    runsEtcd: (address) => base.ownEtcd.roleOf(address) !== 'none',
    use: base.useKeys,
    renew: (signal) => base.stores.renew(signal),
    nowMs: () => performance.now(),
  });
}

function composeMembership(
  base: Foundation,
  common: Common,
  stateDir: string,
  { architecture, attempts, images, keyChange }: ClusterParts & { readonly keyChange: KeyChange },
): ClusterMembership {
  return new ClusterMembership({
    ...common,
    stateDir,
    cluster: base.cluster,
    images,
    stores: base.clusterStores,
    single: base.singleStores,
    fence: base.clusterStores,
    certificates: base.certificates,
    identity: base.identity,
    keys: base.keys,
    keyChange,
    attempts,
    architecture,
    etcdRoleOf: (address) => base.ownEtcd.roleOf(address),
    version: base.release,
    listen: base.membership.listen,
    becameMember: base.membership.became,
  });
}
