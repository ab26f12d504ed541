// Connects warnings with the parts of the daemon that detect problems.
import type { ClusterObjects } from '../../services/cluster/cluster-objects.ts';
import type { CertificateChange } from '../../services/cluster/certificate/certificate-change.ts';
import type { Fencing } from '../../services/cluster/healing/fencing.ts';
import { UnsyncedFiles } from '../../services/containers/create/unsynced-files.ts';
import type { ContainerView } from '../../services/shared/container-view.ts';
import type { MaasRegistry } from '../../services/networks/maas-registry.ts';
import type { NetworkHosts } from '../../services/networks/network-hosts.ts';
import { NetworkWatch } from '../../services/networks/network-watch.ts';
import type { ServerSettings } from '../../services/server/server.ts';
import { PoolWatch } from '../../services/storage/pool-watch.ts';
import type { Pools } from '../../services/storage/pools.ts';
import type { WarningBook } from '../../services/warnings/warning-book.ts';
import { stateSources } from '../../services/server/state-sources.ts';
import { WarningWatch } from '../../services/warnings/warning-watch.ts';
import { Warnings } from '../../services/warnings/warnings.ts';
import type { Sagas } from '../../operations/saga.ts';
import type { Foundation } from '../foundation.ts';

interface WatchedParts {
  readonly view: ContainerView;
  readonly pools: Pools;
  readonly hosts: NetworkHosts;
  readonly maas: MaasRegistry;
  readonly sagas: Sagas;
  readonly server: ServerSettings;
  readonly fencing: Fencing;
  readonly certificateChange: CertificateChange;
  readonly clusterPools: ClusterObjects;
  readonly clusterNetworks: ClusterObjects;
}

export function composeWarnings(base: Foundation, book: WarningBook, parts: WatchedParts) {
  const { records, cluster, events, clock, log, host, locks, room, dirs, stores, ownEtcd } = base;
  const { view, pools, hosts, maas, sagas, server, fencing, certificateChange, clusterPools, clusterNetworks } = parts;
  const poolWatch = new PoolWatch({ records, pools, locks, log });
  const networkWatch = new NetworkWatch({ records, network: host.network, hosts, locks, log });
  const isFull = (): boolean => room?.reason() !== undefined;
  const sources = stateSources({
    records,
    cluster,
    runtime: host.runtime,
    view,
    canLimit: (pool) => pools.canLimit(pool),
    book,
    pools: [clusterPools.definitions, poolWatch],
    networks: [clusterNetworks.definitions, networkWatch],
    undos: sagas,
    listeners: server,
    maas,
    fencing,
    certificate: certificateChange,
    store: stores,
    etcd: ownEtcd,
    disk: () =>
      isFull() ? `The disk of ${dirs.database} is full: the server takes no changes until there is room` : undefined,
  });
  return {
    poolWatch,
    networkWatch,
    warningWatch: new WarningWatch({ book, log, looks: [poolWatch, networkWatch, ...host.looks, maas], sources }),
    unsyncedFiles: new UnsyncedFiles({ records, pools, book, log, canWrite: () => !isFull() }),
    warnings: new Warnings({ records, cluster, events, clock, book }),
  };
}
