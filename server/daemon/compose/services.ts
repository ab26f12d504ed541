// Builds every use case on the foundation, each room after those it needs.
import { snapshotTasks } from '../../services/containers/snapshots/schedule.ts';
import { volumeSnapshotTasks } from '../../services/storage/snapshot-schedule.ts';
import type { Foundation } from '../foundation.ts';
import { composeCluster } from './cluster.ts';
import { type Common, composeCommon } from './common.ts';
import { composeContainers } from './containers.ts';
import { composeImages } from './images.ts';
import { composeRecovery } from './recovery.ts';
import { composeWarnings } from './warnings.ts';
import { trustLimits } from '../../auth/trust.ts';
import { Attempts } from '../../lib/shared/attempts.ts';
import { dialChannel } from '../../http/dial-channel.ts';
import { changeRoot } from '../../services/containers/update/update.ts';
import { replicateImages } from '../../services/images/replicate-images.ts';
import { NetworkAcls } from '../../services/networks/network-acls.ts';
import { Networks } from '../../services/networks/networks.ts';
import { Profiles } from '../../services/profiles/profiles.ts';
import { Projects } from '../../services/projects/projects.ts';
import { Certificates } from '../../services/server/certificates.ts';
import { TrustTokens } from '../../services/server/trust-tokens.ts';
import { ServerMetrics } from '../../services/server/metrics.ts';
import { ServerSettings } from '../../services/server/server.ts';
import { ContainerVolumes } from '../../services/storage/container-volumes.ts';
import { StoragePools } from '../../services/storage/storage-pools.ts';
import { VolumeSnapshots } from '../../services/storage/volume-snapshots.ts';
import { Volumes } from '../../services/storage/volumes.ts';
import { Backups } from '../../services/transfer/backups/backups.ts';
import type { DaemonOptions } from '../daemon-options.ts';

export type Services = ReturnType<typeof composeServices>;

export function composeServices(base: Foundation, { remoteLimits, stateDir }: ComposeOptions) {
  const { isDryRun, dirs, clock, records, operations, loop, cluster } = base;
  const { common, users, book } = composeCommon(base, stateDir);
  const { pools, view, runtime, sagas, fencing, hosts, maas } = common;
  const imageParts = composeImages(base, common, users, remoteLimits);
  const containerParts = composeContainers(base, common, imageParts);
  const { containerDeps, running, guests } = containerParts;
  const [architecture] = common.architectures;
  const attempts = new Attempts(() => clock.nowMs(), trustLimits);
  const serverFingerprint = (): string => base.certificates.current.fingerprint;
  const trustTokens = new TrustTokens({ ...common, serverFingerprint });
  const networks = new Networks({ ...common, running });
  const storagePools = new StoragePools(common);
  const members = { architecture, attempts, containerParts, images: imageParts.members, networks, storagePools };
  const clusterParts = composeCluster(base, common, stateDir, members);
  const server = composeServer(base, common);
  const watched = composeWarnings(base, book, { view, pools, hosts, maas, sagas, server, fencing, ...clusterParts });
  const recoveryParts = composeRecovery(base, common, { ...containerParts, ...watched });
  const volumes = new Volumes(common);
  const volumeSnapshots = new VolumeSnapshots(common);
  const backups = new Backups({ ...common, dir: dirs.backups });
  return {
    ...imageParts,
    ...containerParts,
    ...clusterParts,
    ...watched,
    ...recoveryParts,
    backups,
    certificates: new Certificates({
      ...common,
      attempts,
      tokens: trustTokens,
    }),
    containerVolumes: new ContainerVolumes({
      ...common,
      lists: volumes.lists,
      changeRoot: (caller, name, decide) => changeRoot(containerDeps, caller, name, decide),
    }),
    fencing,
    maas,
    metrics: new ServerMetrics({ records, view, runtime, pools, operations, loop, warnings: watched.warnings }),
    migrationDeps: { ...containerDeps, dial: dialChannel },
    networkAcls: new NetworkAcls(common),
    networks,
    pools,
    profiles: new Profiles({ ...common, running, guests }),
    projects: new Projects({ ...common, running }),
    restoreDeps: common,
    sagas,
    scheduled: [
      ...snapshotTasks({ ...common, snapshots: containerParts.snapshots }),
      ...volumeSnapshotTasks({ ...common, snapshots: volumeSnapshots }),
      ...containerParts.sessions.tasks,
      ...backups.tasks(),
      ...imageParts.imageRefresh.tasks(),
      ...(isDryRun ? [] : [replicateImages({ ...common, ...imageParts, cluster })]),
      ...(base.room === undefined ? [] : [base.room.task()]),
      ...(isDryRun
        ? []
        : [
            server.task(),
            watched.warningWatch.task(),
            watched.unsyncedFiles.task(),
            recoveryParts.recordCopies.task(),
          ]),
    ],
    server,
    storagePools,
    trustTokens,
    view,
    volumeSnapshots,
    volumes,
    warningBook: book,
  };
}

type ComposeOptions = Pick<DaemonOptions, 'remoteLimits' | 'stateDir'>;

function composeServer(base: Foundation, common: Common): ServerSettings {
  const { cluster, certificates, loop, membership, room, traces } = base;
  return new ServerSettings({
    ...common,
    certificate: () => certificates.current,
    cluster,
    loop,
    listenForMembers: membership.listen,
    readOnly: () => room?.reason() ?? (cluster.isRemoved ? cluster.doubt : undefined),
    settled: () => traces.settled,
  });
}
