// Snapshots of custom volumes: the use cases of the API (real system section 10.3).
import { type VolumeId, ownedKey, volumeKey } from '../../records/record-names.ts';
import { errors, mustFind } from '../../api/errors.ts';
import { never } from '../../api/schema/common-schemas.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import type { VolumeSnapshot, VolumeSnapshotCreate, VolumeSnapshotPut } from '../../api/storage/volume.ts';
import type { VolumeSnapshotDocument } from '../../records/documents.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { ownedBy, type OwnedRecord } from '../shared/owned-records.ts';
import { checkSnapshotName, configuredExpiry, nextSnapshotName, sentExpiry } from '../shared/snapshot-names.ts';
import { readyVolume, readyVolumeSnapshot } from './custom-volumes.ts';
import { customUrl } from '../shared/volume-urls.ts';
import { volumeLock, type VolumesDeps } from './volume-checks.ts';
import { createVolumeSnapshotSaga } from './sagas/volume-snapshot-create.ts';
import { renameVolumeSnapshotSaga } from './sagas/volume-snapshot-rename.ts';
import { deleteVolumeSnapshotSaga } from './sagas/volume-snapshot-delete.ts';

type Entry = OwnedRecord<'volumeSnapshots'>;

export class VolumeSnapshots {
  readonly #deps: VolumesDeps;

  constructor(deps: VolumesDeps) {
    this.#deps = deps;
  }

  urls(volume: VolumeId): readonly string[] {
    return this.#all(volume).map(({ name }) => snapshotUrl(volume, name));
  }

  /** Named `volume/snapshot`, as in LXD's lists. */
  list(volume: VolumeId): readonly VolumeSnapshot[] {
    return this.#all(volume).map((entry) => ({ ...render(entry), name: `${plainName(volume.name)}/${entry.name}` }));
  }

  get(volume: VolumeId, name: string): { readonly object: VolumeSnapshot; readonly etag: string } {
    const entry = this.#find(volume, name);
    return { object: render(entry), etag: etagOf.volumeSnapshot(entry.document) };
  }

  create(caller: Caller, volume: VolumeId, body: VolumeSnapshotCreate): Operation {
    const { uuid, config } = readyVolume(this.#deps.records, volume);
    const wanted = body.name === undefined || body.name === '' ? undefined : body.name;
    if (wanted !== undefined) {
      checkSnapshotName(wanted);
      if (this.#deps.records.volumeSnapshots.has(ownedKey(uuid, wanted)))
        throw errors.exists('snapshot', `${volumeKey(volume)}/${wanted}`);
    }
    const expiresAt = sentExpiry(body.expires_at) ?? never.expires;
    const createdAt = this.#deps.clock.timestamp();
    const first = ownedKey(uuid, wanted ?? this.#nextName(volume, undefined, new Date(this.#deps.clock.nowMs())));
    const draft = { v: 1, description: '', config, createdAt, expiresAt, lifecycle: 'creating' } as const;
    this.#deps.records.check((changes) => changes.put('volumeSnapshots', first, draft));
    return this.#start(caller, 'Creating storage volume snapshot', volume, async (signal) => {
      await this.takeNow(caller, volume, { ...body, name: wanted }, signal);
    });
  }

  /** The caller holds the volume's lock. */
  async takeNow(
    caller: Caller,
    volume: VolumeId,
    wanted: Omit<VolumeSnapshotCreate, 'name'> & { readonly name?: string | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { uuid, config, description } = readyVolume(this.#deps.records, volume);
    const now = new Date(this.#deps.clock.nowMs());
    const snapshot = wanted.name ?? this.#nextName(volume, config['snapshots.pattern'], now);
    const document = {
      v: 1,
      description: wanted.description ?? description,
      config,
      createdAt: this.#deps.clock.timestamp(),
      expiresAt: sentExpiry(wanted.expires_at) ?? configuredExpiry(config['snapshots.expiry'], now),
      lifecycle: 'ready',
    } as const;
    await this.#deps.sagas.run(createVolumeSnapshotSaga(this.#deps), { volume, uuid, snapshot, document }, { signal });
    this.#emit('storage-volume-snapshot-created', caller, volume, snapshot);
  }

  /** What the body leaves out stays. */
  async change(
    caller: Caller,
    volume: VolumeId,
    name: string,
    body: VolumeSnapshotPut,
    ifMatch?: string,
  ): Promise<void> {
    const check = (document: VolumeSnapshotDocument): void =>
      checkIfMatch(ifMatch, etagOf.volumeSnapshot(document), 'snapshot', `${volumeKey(volume)}/${name}`);
    check(this.#find(volume, name).document);
    const expiry = sentExpiry(body.expires_at);
    await this.#deps.locks.run(volumeLock(volume), async () => {
      await this.#deps.records.retry((changes) => {
        const { uuid } = readyVolume(this.#deps.records, volume);
        const { document } = readyVolumeSnapshot(this.#deps.records, { volume, uuid, snapshot: name });
        // Another request may have changed it while this one waited.
        check(document);
        const description = body.description ?? document.description;
        changes.put('volumeSnapshots', ownedKey(uuid, name), {
          ...document,
          description,
          expiresAt: expiry ?? document.expiresAt ?? never.expires,
        });
      });
      this.#emit('storage-volume-snapshot-updated', caller, volume, name);
    });
  }

  rename(caller: Caller, volume: VolumeId, name: string, to: string): Operation {
    this.#find(volume, name);
    const { uuid } = readyVolume(this.#deps.records, volume);
    if (this.#deps.records.volumeSnapshots.has(ownedKey(uuid, to)))
      throw errors.exists('snapshot', `${volumeKey(volume)}/${to}`);
    checkSnapshotName(to);
    return this.#start(caller, 'Renaming storage volume snapshot', volume, async (signal) => {
      await this.#deps.locks.unshared(volumeLock(volume));
      // Another request may have renamed the volume while this one waited.
      const params = { volume, uuid: readyVolume(this.#deps.records, volume).uuid, snapshot: name, to };
      await this.#deps.sagas.run(renameVolumeSnapshotSaga(this.#deps), params, { signal });
      this.#emit('storage-volume-snapshot-renamed', caller, volume, name, { new_name: to });
    });
  }

  delete(caller: Caller, volume: VolumeId, name: string): Operation {
    this.#find(volume, name);
    readyVolume(this.#deps.records, volume);
    return this.#start(caller, 'Deleting storage volume snapshot', volume, async (signal) => {
      // Another request may have deleted it while this one waited.
      this.#find(volume, name);
      const key = ownedKey(readyVolume(this.#deps.records, volume).uuid, name);
      await this.#deps.sagas.finishUndoHeld('volumeSnapshots', key);
      if (this.#deps.records.volumeSnapshots.has(key)) await this.dropNow(caller, volume, name, signal);
    });
  }

  /** The caller holds the volume's lock. Waits for running backups. */
  async dropNow(caller: Caller, volume: VolumeId, name: string, signal: AbortSignal): Promise<void> {
    await this.#deps.locks.unshared(volumeLock(volume));
    const { uuid } = readyVolume(this.#deps.records, volume);
    const params = { volume, uuid, snapshot: name };
    await this.#deps.sagas.run(deleteVolumeSnapshotSaga(this.#deps), params, { signal });
    this.#emit('storage-volume-snapshot-deleted', caller, volume, name);
  }

  #start(
    { project }: Caller,
    description: string,
    volume: VolumeId,
    work: (signal: AbortSignal) => Promise<void>,
  ): Operation {
    return this.#deps.operations.start({
      description,
      resources: { storage_volumes: [customUrl(volume)] },
      project,
      run: (_handle, signal) => this.#deps.locks.run(volumeLock(volume), () => work(signal)),
    });
  }

  #nextName(volume: VolumeId, pattern: string | undefined, now: Date): string {
    const taken = this.#all(volume).map((entry) => entry.name);
    const next = nextSnapshotName(pattern ?? 'snap%d', taken, now);
    if ('rule' in next) throw errors.invalid('snapshot', [{ path: 'config.snapshots.pattern', message: next.rule }]);
    checkSnapshotName(next.name);
    return next.name;
  }

  #emit(action: string, caller: Caller, volume: VolumeId, name: string, context?: Record<string, unknown>): void {
    this.#deps.events.lifecycle(action, snapshotUrl(volume, name), caller, context);
  }

  #all(volume: VolumeId): readonly Entry[] {
    return ownedBy(this.#deps.records, 'volumeSnapshots', this.#volume(volume).uuid);
  }

  #find(volume: VolumeId, name: string): Entry {
    const entry = this.#deps.records.volumeSnapshots.get(ownedKey(this.#volume(volume).uuid, name));
    if (entry === undefined) throw errors.notFound('snapshot', `${volumeKey(volume)}/${name}`);
    return { name, document: entry.document };
  }

  #volume(volume: VolumeId) {
    this.#deps.pools.use(volume.pool);
    return mustFind(this.#deps.records.volumes.get(volumeKey(volume))?.document, 'storage volume', volumeKey(volume));
  }
}

const snapshotUrl = (volume: VolumeId, name: string): string => customUrl(volume, 'snapshots', name);

const render = ({ name, document }: Entry): VolumeSnapshot => ({
  name,
  description: document.description,
  config: { ...document.config },
  expires_at: document.expiresAt ?? never.expires,
});
