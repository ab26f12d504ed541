// Makes a container of an uploaded backup: drafts its record from the backup, then runs a saga.
import { type ConfigMap, never } from '../../../api/schema/common-schemas.ts';
import { isTrue } from '../../../api/container/container-config.ts';
import { rootDisk } from '../../../api/devices/index.ts';
import { errors } from '../../../api/errors.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import { newContainerVolume, ofContainerSnapshots } from '../../storage/volume-shapes.ts';
import type { Operation } from '../../../api/operation.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Caller } from '../../shared/caller.ts';
import { arrivedInstanceId } from '../../containers/shared/instance-id.ts';
import { applyTemplateKey } from '../../containers/files/apply-templates.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { lockOf } from '../../shared/find-container.ts';
import { checkArchitecture, freeName, withRootIn } from '../../containers/shared/draft.ts';
import { parseIdMap } from '../../../drivers/runtime/idmap/plan.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import type { SnapshotEntry } from '../../containers/shared/snapshot-records.ts';
import { expand } from '../../shared/expand.ts';
import { isUntrustedSource } from '../migration/untrusted-source.ts';
import { announceArrival, arrivingContainer, arrivingSnapshot, retainedKeys } from '../migration/arriving.ts';
import { checkHostAccess } from './host-access.ts';
import type { BackupIndex, SavedMachine, SavedParts } from './index-yaml.ts';
import { receiveContainerSaga, type ReceiveContainerParams } from '../migration/sagas/container-receive.ts';
import { inspectBackup } from './tarball-reader.ts';
import { unpackBackup } from './unpack-backup.ts';
import { allowsHostAccess, checkForm, takeUpload, type BackupUpload } from './uploaded.ts';
import { profileIn, profilesOf } from '../../shared/project-scope.ts';

export type RestoreDeps = Pick<
  ContainerDeps,
  'records' | 'pools' | 'idMaps' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock' | 'architectures'
> & { readonly hosts: NetworkHosts };

/** Takes over the uploaded file. */
export function restoreBackup(
  deps: RestoreDeps,
  caller: Caller,
  upload: BackupUpload,
  signal: AbortSignal,
): Promise<Operation> {
  const judge = (index: BackupIndex) => {
    if (index.type !== 'container')
      throw errors.badRequest(
        'The backup is of a storage volume: import it with lxc storage volume import, or gantry backup import FILE POOL/',
      );
    const name = freeName(deps.records, caller.project, upload.name ?? index.name);
    const pool = choosePool(deps, caller.project, index, upload.pool);
    if (index.parts !== undefined) {
      checkHostAccess(index.parts, allowsHostAccess(deps.records, upload));
      draft(deps, caller, { name, index, pool }, index.parts);
    }
    return {
      resources: { containers: [containerUrl(name)] },
      run: (handle: OperationHandle, aborted: AbortSignal) =>
        restoreNow(deps, caller, { upload, index, name, pool }, handle, aborted),
    };
  };
  return takeUpload(deps, upload, judge, signal);
}

interface Restore {
  readonly upload: BackupUpload;
  readonly index: BackupIndex;
  readonly name: string;
  readonly pool: string;
}

async function restoreNow(
  deps: RestoreDeps,
  caller: Caller,
  { upload, index, name, pool }: Restore,
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  const parts = await inspectBackup(upload.path, index, await deps.pools.room(pool), signal);
  checkHostAccess(parts, allowsHostAccess(deps.records, upload));
  await deps.locks.run(lockOf(name), async () => {
    const params = draft(deps, caller, { name, index, pool }, parts);
    const profileOf = profilesOf(deps.records, name);
    const isPrivileged = (machine: Parameters<typeof expand>[0]): boolean =>
      isTrue(expand(machine, profileOf).config['security.privileged'] ?? '');
    const volume = newContainerVolume(deps.records, name, params.document);
    const plan = {
      ofSnapshot: ofContainerSnapshots(deps.records, volume, params.snapshots),
      index,
      keepNodes:
        (allowsHostAccess(deps.records, upload) && !isUntrustedSource(deps.records, caller, name)) ||
        // Any of them may become the container.
        [params, ...params.snapshots].every(({ document }) => isPrivileged(document)),
    };
    const saga = receiveContainerSaga(deps, (_params, context) =>
      unpackBackup(
        upload.path,
        deps.pools.use(pool),
        plan,
        (part) => handle.update({ restore_backup_progress: part }),
        context.signal,
      ),
    );
    await deps.idMaps.reserving((reserve) =>
      deps.sagas.run(
        saga,
        { ...params, document: reserve(name, params.document) },
        { signal, progress: (metadata) => handle.update(metadata) },
      ),
    );
    await announceArrival(deps, caller, name, params.document);
  });
}

/** The requested pool, else the backup's, else that of the default profile's root disk (real system section 11). */
function choosePool(
  { records, pools }: RestoreDeps,
  project: string,
  index: BackupIndex,
  wanted: string | undefined,
): string {
  const isReady = (name: string): boolean => records.pools.get(name)?.document.lifecycle === 'ready';
  const ofDefault =
    rootDisk(records.profiles.get(profileIn(records, project, 'default'))?.document.devices ?? {})?.pool ?? '';
  const pool = [wanted ?? index.pool, ...(wanted === undefined ? [ofDefault] : [])].find(isReady);
  if (pool === undefined && wanted !== undefined) throw errors.notFound('storage pool', wanted);
  if (pool === undefined)
    throw errors.badRequest(
      `The backup is of the storage pool ${index.pool}, which is not here, and the default profile has no root disk: name a pool`,
    );
  checkForm(pools, index, pool);
  return pool;
}

/** Throws AppError badRequest with all problems. */
function draft(
  deps: RestoreDeps,
  caller: Caller,
  { name, index, pool }: Omit<Restore, 'upload'>,
  parts: SavedParts,
): ReceiveContainerParams {
  const isUntrusted = isUntrustedSource(deps.records, caller, name);
  const believed = <T extends SavedMachine>(machine: T): T => (isUntrusted ? withoutOwners(machine) : machine);
  const saved = believed(parts.container);
  const taken = takenValues(deps);
  const plain = machineOf(deps, name, saved, pool, taken);
  const identity = arrivedInstanceId(saved.config, index.name === plainName(name));
  const machine = { ...plain, config: { ...plain.config, ...identity } };
  const document = arrivingContainer(deps, name, machine, factsOf(deps, saved));
  deps.idMaps.check(name, document);
  return {
    name,
    document,
    snapshots: parts.snapshots.map((snapshot) => snapshotOf(deps, name, believed(snapshot), pool, taken)),
  };
}

function machineOf(deps: RestoreDeps, name: string, saved: SavedMachine, pool: string, taken: ReadonlySet<string>) {
  const template = saved.config[applyTemplateKey];
  const machine = {
    architecture: checkArchitecture(saved.architecture, deps.architectures),
    profiles: saved.profiles,
    config: {
      ...withoutTaken(retainedKeys(saved.config, true), taken),
      ...(template === undefined ? {} : { [applyTemplateKey]: template }),
      [idMapKeys.files]: ownersIn(saved),
    },
    devices: saved.devices,
  };
  return { ...machine, devices: withRootIn(deps.records, name, machine, pool) };
}

/** A foreign owner map could name ids of the host. */
const withoutOwners = <T extends SavedMachine>(machine: T): T => ({
  ...machine,
  config: { ...machine.config, [idMapKeys.files]: '[]' },
});

/** LXD packs owners as on its disk, this daemon as the container sees them. */
function ownersIn({ config }: SavedMachine): string {
  const map = config[idMapKeys.files] ?? '[]';
  return parseIdMap(map) === undefined ? '[]' : map;
}

/** Addresses of the containers here, among other values. */
const takenValues = ({ records }: RestoreDeps): ReadonlySet<string> =>
  new Set(records.containers.list().flatMap(({ document }) => Object.values(document.config)));

/** Drops addresses that a container here has: two on one network would conflict. */
function withoutTaken(config: ConfigMap, taken: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).filter(
      ([key, value]) => !(/^volatile\..+\.(hwaddr|ipv[46]\.address)$/.test(key) && taken.has(value)),
    ),
  );
}

const snapshotOf = (
  deps: RestoreDeps,
  container: string,
  saved: SavedParts['snapshots'][number],
  pool: string,
  taken: ReadonlySet<string>,
): SnapshotEntry =>
  arrivingSnapshot(saved.name, machineOf(deps, container, saved, pool, taken), {
    ...factsOf(deps, saved),
    expiresAt: saved.expiresAt,
  });

const factsOf = (
  { clock }: RestoreDeps,
  { ephemeral, description, createdAt = clock.timestamp(), lastUsedAt = never.started, volume }: SavedMachine,
) => ({ ephemeral, description, createdAt, lastUsedAt, stateful: false, volume });
