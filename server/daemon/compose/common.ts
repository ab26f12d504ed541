// The shared dependencies of use cases: records, drivers, locks, and the sagas, complete before the first one runs.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { hostname, machine } from 'node:os';
import type { Foundation } from '../foundation.ts';
import { architecturesOfHost } from '../../api/image/architectures.ts';
import { Guard } from '../../drivers/runtime/guard/guard.ts';
import { clusterDir } from '../../membership/membership.ts';
import type { RecordName } from '../../operations/pending-undos.ts';
import { Sagas } from '../../operations/saga.ts';
import { Fencing } from '../../services/cluster/healing/fencing.ts';
import { IdMaps } from '../../services/containers/shared/id-maps.ts';
import { ImageUsers } from '../../services/images/image-users.ts';
import { MaasRegistry } from '../../services/networks/maas-registry.ts';
import { NetworkHosts } from '../../services/networks/network-hosts.ts';
import { maasSettings } from '../../services/shared/settings.ts';
import { undoLocksOf } from '../../services/server/undo-locks.ts';
import { ContainerView } from '../../services/shared/container-view.ts';
import { Pools } from '../../services/storage/pools.ts';
import { WarningBook } from '../../services/warnings/warning-book.ts';
import { noWarnings, type WarningSink } from '../../services/warnings/warning-sink.ts';
import { sagaTable } from './saga-table.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** Unique to this daemon. */
function ownTag(stateDir: string): string {
  const machine = existsSync('/etc/machine-id') ? readFileSync('/etc/machine-id', 'utf8') : hostname();
  return createHash('sha256').update(`${machine}\n${stateDir}`).digest('hex').slice(0, 8);
}

export type Common = ReturnType<typeof composeCommon>['common'];

export function composeCommon(base: Foundation, stateDir: string) {
  const { isDryRun, unprivilegedOnly, dirs, clock, events, log, records, host, operations, locks, room, cluster } =
    base;
  const { runtime, network, paths } = host;
  const idMaps = new IdMaps({ records, runtime, ids: host.ids });
  const pools = new Pools({ records, drivers: host.storage, missing: host.storageMissing ?? {}, locks, log });
  const rootUse = (pool: string, name: string) => pools.usedBytes(pool, { type: 'container', name });
  const view = new ContainerView({ records, runtime, places: cluster, rootUse });
  const users = new ImageUsers();
  const places = { imagesDir: dirs.images, backupsDir: dirs.backups, logsDir: dirs.logs };
  // The records of a cluster are not on this disk, and the other members show the warning.
  const canWrite = (): boolean => cluster.isOn || room?.reason() === undefined;
  const book = new WarningBook({ records, clock, log, canWrite });
  const warnings: WarningSink = isDryRun ? noWarnings : book;
  const acting = { records, runtime, network, pools, view, idMaps, clock, log, locks, events, warnings, ...places };
  const undoLocks = { locks, keysOf: (record: RecordName) => undoLocksOf(records, record) };
  const sagas = new Sagas({ records, clock, log, table: sagaTable({ ...acting, users }), undoLocks });
  const fencing = new Fencing({
    records,
    cluster,
    runtime,
    guard: new Guard(clusterDir(stateDir)),
    missing: Guard.missing(),
    log,
    warnings,
    nowMs: () => performance.now(),
  });
  const common = {
    ...acting,
    fencing,
    operations,
    sagas,
    hosts: new NetworkHosts(acting),
    maas: new MaasRegistry({
      ...acting,
      maas: () => (isDryRun ? undefined : maasSettings(records)),
      tag: ownTag(stateDir),
    }),
    unprivilegedOnly,
    architectures: host.architectures ?? architecturesOfHost(machine()),
    location: (): string => cluster.ownName,
    ...withoutUndefined({ paths }),
  };
  return { common, users, book };
}
