// Snapshots of custom volumes: the use cases of the API (real system section 10.3).
import { errors } from '../../api/errors.ts';
import { snapshotName } from '../../api/names.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import type { VolumeSnapshot, VolumeSnapshotCreate, VolumeSnapshotPut } from '../../api/storage/volume.ts';
import type { Caller } from '../caller.ts';
import { nextSnapshotName } from '../containers/snapshots/names.ts';
import { checkIfMatch, etagOf } from '../etag.ts';
import { ownedBy, ownedKey, type Owned } from '../owned-records.ts';
import { readyVolume, readyVolumeSnapshot } from './custom-volumes.ts';
import { volumeKey, type VolumeId } from './volume-users.ts';
import { customUrl } from './volume-urls.ts';
import { volumeLock, type VolumesDeps } from './volumes.ts';
import { createVolumeSnapshotSaga } from './sagas/volume-snapshot-create.ts';
import { renameVolumeSnapshotSaga } from './sagas/volume-snapshot-rename.ts';
import { deleteVolumeSnapshotSaga } from './sagas/volume-snapshot-delete.ts';

type Entry = Owned<'volumeSnapshots'>;

export class VolumeSnapshots {
  readonly #deps: VolumesDeps;

  constructor(deps: VolumesDeps) {
    this.#deps = deps;
  }

  urls(volume: VolumeId): readonly string[] {
    return this.#all(volume).map(({ name }) => snapshotUrl(volume, name));
  }

  /** Named `volume/snapshot`, as in lists of the real system. */
  list(volume: VolumeId): readonly VolumeSnapshot[] {
    return this.#all(volume).map((entry) => ({ ...render(entry), name: `${plainName(volume.name)}/${entry.name}` }));
  }

  get(volume: VolumeId, name: string): { readonly object: VolumeSnapshot; readonly etag: string } {
    const entry = this.#find(volume, name);
    return { object: render(entry), etag: etagOf.volume(entry.document) };
  }

  create(caller: Caller, volume: VolumeId, body: VolumeSnapshotCreate): Operation {
    const { uuid } = readyVolume(this.#deps.records, volume);
    const wanted = body.name === undefined || body.name === '' ? undefined : body.name;
    if (wanted !== undefined) {
      checkName(wanted);
      if (this.#deps.records.volumeSnapshots.has(ownedKey(uuid, wanted)))
        throw errors.exists('snapshot', `${volumeKey(volume)}/${wanted}`);
    }
    return this.#start('Snapshotting storage volume', volume, async (signal) => {
      const { config, description } = readyVolume(this.#deps.records, volume);
      const snapshot = wanted ?? this.#nextName(volume);
      const document = {
        v: 1,
        description: body.description ?? description,
        config,
        createdAt: this.#deps.clock.timestamp(),
        lifecycle: 'ready',
      } as const;
      const params = { volume, uuid, snapshot, document };
      await this.#deps.sagas.run(createVolumeSnapshotSaga(this.#deps), params, { signal });
      this.#tell('storage-volume-snapshot-created', caller, volume, snapshot);
    });
  }

  put(caller: Caller, volume: VolumeId, name: string, body: VolumeSnapshotPut, ifMatch?: string): Operation {
    checkIfMatch(ifMatch, etagOf.volume(this.#find(volume, name).document), 'snapshot', `${volumeKey(volume)}/${name}`);
    return this.#start('Updating storage volume snapshot', volume, async () => {
      await this.#deps.records.retry((changes) => {
        const { uuid } = readyVolume(this.#deps.records, volume);
        const { document } = readyVolumeSnapshot(this.#deps.records, { volume, uuid, snapshot: name });
        const description = body.description ?? document.description;
        changes.put('volumeSnapshots', ownedKey(uuid, name), { ...document, description });
      });
      this.#tell('storage-volume-snapshot-updated', caller, volume, name);
    });
  }

  rename(caller: Caller, volume: VolumeId, name: string, to: string): Operation {
    this.#find(volume, name);
    const { uuid } = readyVolume(this.#deps.records, volume);
    if (this.#deps.records.volumeSnapshots.has(ownedKey(uuid, to)))
      throw errors.exists('snapshot', `${volumeKey(volume)}/${to}`);
    checkName(to);
    return this.#start('Renaming storage volume snapshot', volume, async (signal) => {
      const params = { volume, uuid, snapshot: name, to };
      await this.#deps.sagas.run(renameVolumeSnapshotSaga(this.#deps), params, { signal });
      this.#tell('storage-volume-snapshot-renamed', caller, volume, name, { new_name: to });
    });
  }

  delete(caller: Caller, volume: VolumeId, name: string): Operation {
    this.#find(volume, name);
    const { uuid } = readyVolume(this.#deps.records, volume);
    const key = ownedKey(uuid, name);
    return this.#start('Deleting storage volume snapshot', volume, async (signal) => {
      await this.#deps.sagas.settleHeld('volumeSnapshots', key);
      if (!this.#deps.records.volumeSnapshots.has(key)) return;
      const params = { volume, uuid, snapshot: name };
      await this.#deps.sagas.run(deleteVolumeSnapshotSaga(this.#deps), params, { signal });
      this.#tell('storage-volume-snapshot-deleted', caller, volume, name);
    });
  }

  #start(description: string, volume: VolumeId, work: (signal: AbortSignal) => Promise<void>): Operation {
    return this.#deps.operations.start({
      description,
      resources: { storage_volumes: [customUrl(volume)] },
      run: (_handle, signal) => this.#deps.locks.run(volumeLock(volume), () => work(signal)),
    });
  }

  #nextName(volume: VolumeId): string {
    const taken = this.#all(volume).map((entry) => entry.name);
    const next = nextSnapshotName('snap%d', taken, new Date(this.#deps.clock.nowMs()));
    return 'name' in next ? next.name : '';
  }

  #tell(action: string, caller: Caller, volume: VolumeId, name: string, context?: Record<string, unknown>): void {
    this.#deps.events.lifecycle(action, snapshotUrl(volume, name), context, caller.requestor);
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
    const document = this.#deps.records.volumes.get(volumeKey(volume))?.document;
    if (document === undefined) throw errors.notFound('storage volume', volumeKey(volume));
    return document;
  }
}

const snapshotUrl = (volume: VolumeId, name: string): string => customUrl(volume, 'snapshots', name);

const render = ({ name, document }: Entry): VolumeSnapshot => ({
  name,
  description: document.description,
  config: { ...document.config },
});

function checkName(name: string): void {
  const rule = snapshotName(name);
  if (rule !== undefined) throw errors.invalidName('snapshot', name, rule);
}
