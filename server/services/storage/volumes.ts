// Storage volumes: the use cases of the API (spec 2.14, 4.12). Names of volumes are qualified names.
import { randomUUID } from 'node:crypto';
import { errors, checkName } from '../../api/errors.ts';
import { volumeName } from '../../api/names.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import { findVolumeConfigKey, withPoolDefaults } from '../../api/storage/storage-config.ts';
import type { StorageVolume, StorageVolumeCreate, StorageVolumePut } from '../../api/storage/volume.ts';
import type { VolumeDocument } from '../../records/documents.ts';
import { type VolumeId, volumeKey } from '../../records/record-names.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { isServerKey, withoutServerKeys } from '../shared/expand.ts';
import { ownedBy } from '../shared/owned-records.ts';
import { patchDescribed, replaceConfig } from '../shared/patch.ts';
import { volumeIn, type ProjectNames } from '../shared/project-scope.ts';
import { unpackedImages } from '../shared/unpacked-images.ts';
import { limitVolume, readyVolume, readyVolumeSnapshot, refOf } from './custom-volumes.ts';
import { customUrl, volumeUrl } from '../shared/volume-urls.ts';
import {
  checkedVolumeConfig,
  customVolume,
  findVolume,
  refuseRunningUsers,
  volumeLock,
  withPoolSize,
  withVolumes,
  type VolumesDeps,
} from './volume-checks.ts';
import { checkVolumeType, VolumeLists } from './volume-lists.ts';
import { VolumeMoves } from './volume-moves.ts';
import { deleteVolumeSaga } from './sagas/volume-delete.ts';
import { createVolumeSaga, type CreateVolumeParams } from './sagas/volume-create.ts';
import { restoreVolumeSaga } from './sagas/volume-restore.ts';

const never = new AbortController().signal;

interface NewCustomVolume {
  readonly volume: VolumeId;
  /** What it is a copy of. */
  readonly from?: VolumeId;
  /** Called under the locks: what is copied may have changed while this waited for it. */
  readonly params: () => CreateVolumeParams;
}

export class Volumes {
  readonly #deps: VolumesDeps;
  readonly lists: VolumeLists;
  readonly moves: VolumeMoves;

  constructor(deps: VolumesDeps) {
    this.#deps = deps;
    this.lists = new VolumeLists(deps);
    this.moves = new VolumeMoves(deps);
  }

  async get(
    pool: string,
    type: string,
    name: string,
  ): Promise<{ readonly object: StorageVolume; readonly etag: string }> {
    const known = checkVolumeType(type);
    await this.lists.need(pool, known, name);
    const document = known === 'custom' ? findVolume(this.#deps, { pool, name }) : { config: {}, description: '' };
    return { object: this.lists.render(pool, known, name), etag: etagOf.volume(document) };
  }

  /** A copy is an operation; an empty volume exists when this resolves (undefined). `from`: qualifies the name of the source. */
  async create(
    caller: Caller,
    pool: string,
    type: string | undefined,
    body: StorageVolumeCreate,
    from: Pick<ProjectNames, 'volume'>,
  ): Promise<Operation | undefined> {
    if (type === undefined) throw errors.invalid('storage volume', [{ path: 'type', message: 'is required: custom' }]);
    if (checkVolumeType(type) !== 'custom')
      throw errors.badRequest(
        `Volumes of type ${type} are made with what they belong to; only custom ones are made here`,
      );
    const volume: VolumeId = { pool, name: volumeIn(this.#deps.records, caller.project, body.name) };
    checkName('storage volume', body.name, volumeName);
    this.#deps.pools.use(pool);
    if (this.#deps.records.volumes.has(volumeKey(volume))) throw errors.exists('storage volume', volumeKey(volume));
    const sourceName = body.source?.name ?? '';
    if ((body.source?.type || 'copy') !== 'copy')
      throw errors.invalid('storage volume', [{ path: 'source.type', message: 'must be copy or migration' }]);
    if (sourceName === '') {
      const config = withPoolSize(
        this.#deps.pools,
        pool,
        checkedVolumeConfig(this.#deps.pools, pool, replaceConfig(body.config, findVolumeConfigKey)),
      );
      const document = this.#draft(volume.pool, config, body.description ?? '');
      const params: CreateVolumeParams = { volume, document, source: { kind: 'empty' } };
      await this.#createNow(caller, { volume, params: () => params }, never);
      return undefined;
    }
    const source = { pool: body.source?.pool ?? pool, name: from.volume(sourceName) };
    return this.#copy(caller, volume, source, body);
  }

  put(
    caller: Caller,
    pool: string,
    type: string,
    name: string,
    body: StorageVolumePut,
    ifMatch?: string,
  ): Promise<void> {
    const volume = customVolume(pool, type, name);
    if (body.restore !== undefined && body.restore !== '') {
      return this.#restore(caller, volume, body.restore, ifMatch);
    }
    return this.#change(caller, volume, ifMatch, (document) => {
      const kept = Object.entries(document.config).filter(([key]) => isServerKey(key));
      const config = {
        ...Object.fromEntries(kept),
        ...replaceConfig(body.config, findVolumeConfigKey, document.config),
      };
      return { ...document, config, description: body.description ?? '' };
    });
  }

  patch(
    caller: Caller,
    pool: string,
    type: string,
    name: string,
    body: StorageVolumePut,
    ifMatch?: string,
  ): Promise<void> {
    if ((body.restore ?? '') !== '') throw errors.badRequest('restore is only possible with PUT');
    return this.#change(caller, customVolume(pool, type, name), ifMatch, (document) =>
      patchDescribed(document, body, findVolumeConfigKey),
    );
  }

  async delete(caller: Caller, pool: string, type: string, name: string): Promise<void> {
    const known = checkVolumeType(type);
    if (known === 'container') throw errors.badRequest(`The volume of container ${name} is deleted with the container`);
    if (known === 'image') {
      await this.lists.need(pool, known, name);
      await this.#dropImage(pool, name);
    } else {
      const volume = { pool, name };
      findVolume(this.#deps, volume);
      await this.#deps.sagas.finishUndo('volumes', volumeKey(volume));
      // A volume in creation is gone once that is undone.
      if (!this.#deps.records.volumes.has(volumeKey(volume))) return;
      await this.#deleteCustom(caller, volume);
    }
    this.#deps.events.lifecycle('storage-volume-deleted', volumeUrl(pool, known, name), caller);
  }

  async #deleteCustom(caller: Caller, volume: VolumeId): Promise<void> {
    const { records, locks, sagas, events } = this.#deps;
    await withVolumes(this.#deps, [volume], async () => {
      await locks.unshared(volumeLock(volume));
      const { uuid } = readyVolume(records, volume);
      const snapshots = ownedBy(records, 'volumeSnapshots', uuid);
      const backups = ownedBy(records, 'backups', uuid);
      await sagas.run(deleteVolumeSaga(this.#deps), volume);
      for (const { name } of snapshots)
        events.lifecycle('storage-volume-snapshot-deleted', customUrl(volume, 'snapshots', name), caller);
      for (const { name } of backups) {
        const context = { backup_name: `${plainName(volume.name)}/${name}` };
        events.lifecycle('storage-volume-backup-deleted', customUrl(volume, 'backups', name), caller, context);
      }
    });
  }

  /** The pool's copy is shared: it is deleted with the last project that sees it. Another container of the image unpacks it again. */
  async #dropImage(pool: string, image: string): Promise<void> {
    const { records, pools } = this.#deps;
    const others = await records.retry((changes) => {
      const found = unpackedImages(records, pool, [plainName(image)]);
      const own = found.find(({ name }) => name === image);
      const unpackedIn = own?.document.unpackedIn?.filter((each) => each !== pool);
      if (own !== undefined && unpackedIn !== undefined) changes.put('images', image, { ...own.document, unpackedIn });
      return found.filter(({ name }) => name !== image);
    });
    if (others.length === 0) await pools.deleteVolume(pool, { type: 'image', name: plainName(image) });
  }

  #copy(caller: Caller, volume: VolumeId, source: VolumeId, body: StorageVolumeCreate): Operation {
    const slash = source.name.indexOf('/');
    const from = slash < 0 ? source : { pool: source.pool, name: source.name.slice(0, slash) };
    const snapshot = slash < 0 ? undefined : source.name.slice(slash + 1);
    const origin = readyVolume(this.#deps.records, from);
    if (snapshot !== undefined) readyVolumeSnapshot(this.#deps.records, { volume: from, uuid: origin.uuid, snapshot });
    const sent =
      body.config === undefined || body.config === null ? withoutServerKeys(origin.config) : replaceConfig(body.config);
    const document = this.#draft(
      volume.pool,
      checkedVolumeConfig(this.#deps.pools, volume.pool, sent),
      body.description ?? origin.description,
    );
    this.#deps.records.check((changes) => changes.put('volumes', volumeKey(volume), document));
    return this.#deps.operations.start({
      description: 'Copying storage volume',
      resources: { storage_volumes: [customUrl(volume)] },
      project: caller.project,
      run: async (_handle, signal) => {
        const params = (): CreateVolumeParams => {
          const { uuid } = readyVolume(this.#deps.records, from);
          const isAlone = snapshot !== undefined || body.source?.volume_only === true;
          const snapshots = isAlone ? [] : ownedBy(this.#deps.records, 'volumeSnapshots', uuid);
          return {
            volume,
            document,
            source: this.#deps.pools.copySource(from.pool, refOf(from.name), snapshot, volume.pool),
            copied: { from, snapshots: snapshots.filter((each) => each.document.lifecycle === 'ready') },
          };
        };
        await this.#createNow(caller, { volume, from, params }, signal);
      },
    });
  }

  async #createNow(
    caller: Caller,
    { volume, from = volume, params }: NewCustomVolume,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#deps.locks.runAll([volumeLock(volume), volumeLock(from)], () =>
      this.#deps.sagas.run(createVolumeSaga(this.#deps), params(), { signal }),
    );
    this.#deps.events.lifecycle('storage-volume-created', customUrl(volume), caller);
  }

  async #restore(caller: Caller, volume: VolumeId, snapshot: string, ifMatch: string | undefined): Promise<void> {
    const { uuid } = findVolume(this.#deps, volume);
    readyVolumeSnapshot(this.#deps.records, { volume, uuid, snapshot });
    await withVolumes(this.#deps, [volume], async () => {
      checkIfMatch(ifMatch, etagOf.volume(findVolume(this.#deps, volume)), 'storage volume', volumeKey(volume));
      refuseRunningUsers(this.#deps, volume, 'restoring it');
      await this.#deps.locks.unshared(volumeLock(volume));
      await this.#deps.sagas.run(restoreVolumeSaga(this.#deps), { volume, uuid, snapshot });
    });
    this.#deps.events.lifecycle('storage-volume-restored', customUrl(volume), caller, { snapshot });
  }

  async #change(
    caller: Caller,
    volume: VolumeId,
    ifMatch: string | undefined,
    next: (document: VolumeDocument) => VolumeDocument,
  ): Promise<void> {
    findVolume(this.#deps, volume);
    await withVolumes(this.#deps, [volume], async () => {
      const before = readyVolume(this.#deps.records, volume);
      checkIfMatch(ifMatch, etagOf.volume(before), 'storage volume', volumeKey(volume));
      const wanted = next(before);
      checkedVolumeConfig(this.#deps.pools, volume.pool, wanted.config, before.config);
      const isResized = ['size', 'block.mount_options', 'zfs.use_refquota'].some(
        (key) => before.config[key] !== wanted.config[key],
      );
      // If the daemon dies before it is recorded: reapplyLimits.
      if (isResized) await limitVolume(this.#deps.pools, volume, wanted.config, { mustHold: true });
      try {
        await this.#deps.records.retry((changes) => changes.put('volumes', volumeKey(volume), wanted));
      } catch (error) {
        // reapplyLimits tries it again at the next start.
        if (isResized) await limitVolume(this.#deps.pools, volume, before.config).catch(() => {});
        throw error;
      }
    });
    this.#deps.events.lifecycle('storage-volume-updated', customUrl(volume), caller);
  }

  #draft(pool: string, sent: Record<string, string>, description: string): VolumeDocument {
    const createdAt = this.#deps.clock.timestamp();
    const config = withPoolDefaults(this.#deps.pools.use(pool).pool.config, sent);
    return { v: 1, uuid: randomUUID(), description, config, createdAt, lifecycle: 'ready' };
  }
}
