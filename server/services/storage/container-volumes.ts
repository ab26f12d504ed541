// The volumes of containers and of their snapshots: the container keeps description and user.*, `size` is that of its root disk. They are
// made, renamed and deleted with the container.
import type { ServiceParts } from '../shared/service-parts.ts';
import { rootDisk } from '../../api/devices/index.ts';
import { errors } from '../../api/errors.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { Problem } from '../../api/problem.ts';
import type { DeviceMap } from '../../api/schema/common-schemas.ts';
import type { StorageVolume, StorageVolumePut, VolumeSnapshot, VolumeSnapshotPut } from '../../api/storage/volume.ts';
import type { ContainerDocument, RootVolumeDocument, SnapshotDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { ownedKey } from '../../records/record-names.ts';
import type { Caller } from '../shared/caller.ts';
import { lockOf, readyContainer } from '../shared/find-container.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { expand, withoutServerKeys } from '../shared/expand.ts';
import { ownedBy, type OwnedRecord } from '../shared/owned-records.ts';
import { mergeConfig, replaceConfig } from '../shared/patch.ts';
import { profilesOf } from '../shared/project-scope.ts';
import { sentExpiry } from '../shared/snapshot-names.ts';
import type { Pools } from './pools.ts';
import { volumeConfigProblems } from './volume-checks.ts';
import { describedVolume, type DescribedVolume, type VolumeLists } from './volume-lists.ts';
import { volumeUrl } from '../shared/volume-urls.ts';

interface Deps extends Pick<ServiceParts, 'records' | 'locks' | 'events' | 'operations'> {
  readonly pools: Pools;
  readonly lists: VolumeLists;
  /** Changes the devices and the volume of a container, with all checks of a change of devices. `decide` gets the record under the lock. */
  readonly changeRoot: (
    caller: Caller,
    container: string,
    decide: (document: ContainerDocument) => { readonly devices: DeviceMap; readonly volume: RootVolumeDocument },
  ) => Promise<void>;
}

type Next = (now: DescribedVolume) => DescribedVolume;
interface ObjectWithEtag<T> {
  readonly object: T;
  readonly etag: string;
}
type SnapshotPlace = readonly [pool: string, name: string, snapshot: string];
const labelOf = ([pool, name, snapshot]: SnapshotPlace): string => `${pool}/container/${name}/${snapshot}`;

export class ContainerVolumes {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get(pool: string, name: string): ObjectWithEtag<StorageVolume> {
    this.#need(pool, name);
    const object = this.#deps.lists.render(pool, 'container', name);
    return { object, etag: etagOf.volume(object) };
  }

  put(caller: Caller, pool: string, name: string, body: StorageVolumePut, ifMatch?: string): Promise<void> {
    return this.#change(caller, pool, name, replacing(body), ifMatch);
  }

  patch(caller: Caller, pool: string, name: string, body: StorageVolumePut, ifMatch?: string): Promise<void> {
    return this.#change(caller, pool, name, merging(body), ifMatch);
  }

  snapshotUrls(pool: string, name: string): readonly string[] {
    const { uuid } = this.#need(pool, name);
    const found = ownedBy(this.#deps.records, 'snapshots', uuid);
    return found.map((snapshot) => volumeUrl(pool, 'container', name, 'snapshots', snapshot.name));
  }

  /** Named VOLUME/SNAPSHOT. */
  snapshotList(pool: string, name: string): readonly VolumeSnapshot[] {
    const { uuid } = this.#need(pool, name);
    const found = ownedBy(this.#deps.records, 'snapshots', uuid);
    return found.map((snapshot) => ({ ...this.#render(name, snapshot), name: `${plainName(name)}/${snapshot.name}` }));
  }

  getSnapshot(pool: string, name: string, snapshot: string): ObjectWithEtag<VolumeSnapshot> {
    const { uuid } = this.#need(pool, name);
    const document = this.#read(name, uuid, snapshot);
    return { object: this.#render(name, { name: snapshot, document }), etag: this.#etag(name, document) };
  }

  /** Replaces description and config, or merges them. */
  async changeSnapshot(
    caller: Caller,
    place: SnapshotPlace,
    how: 'put' | 'patch',
    body: StorageVolumePut,
    ifMatch?: string,
  ): Promise<void> {
    const next = how === 'put' ? replacing(body) : merging(body);
    await this.#writeSnapshot(caller, place, (document, now) => {
      checkIfMatch(ifMatch, etagOf.volume(now), 'snapshot', labelOf(place));
      const wanted = next(now);
      this.#check(place[0], now, wanted);
      if (wanted.config['size'] !== now.config['size'])
        throw errors.invalid('storage volume', [
          { path: 'config.size', message: 'cannot be changed: a snapshot has the size that its container had' },
        ]);
      return { ...document, volume: kept(wanted) };
    });
  }

  /** Like snapshots of custom volumes: the description, and the expiry, which is that of the container's snapshot. */
  /** What the body leaves out stays. */
  describeSnapshot(caller: Caller, place: SnapshotPlace, body: VolumeSnapshotPut, ifMatch?: string): Promise<void> {
    const expiry = sentExpiry(body.expires_at);
    return this.#writeSnapshot(caller, place, (document, now) => {
      checkIfMatch(ifMatch, this.#etag(place[1], document), 'snapshot', labelOf(place));
      const description = body.description ?? now.description;
      return { ...document, volume: kept({ ...now, description }), expiresAt: expiry ?? document.expiresAt };
    });
  }

  async #change(caller: Caller, pool: string, name: string, next: Next, ifMatch: string | undefined): Promise<void> {
    const { records, locks, changeRoot, events } = this.#deps;
    this.#need(pool, name);
    /** Called again under the lock: another request may have changed it meanwhile. */
    const decide = (
      document: ContainerDocument,
    ): { readonly now: DescribedVolume; readonly wanted: DescribedVolume } => {
      const now = describedVolume(records, name, document);
      checkIfMatch(ifMatch, etagOf.volume(now), 'storage volume', `${pool}/container/${name}`);
      const wanted = next(now);
      this.#check(pool, now, wanted);
      return { now, wanted };
    };
    decide(readyContainer(records, name).document);
    const isResized = await locks.run(lockOf(name), () =>
      records.retry((changes) => {
        const { document } = readyContainer(records, name);
        const { now, wanted } = decide(document);
        if (wanted.config['size'] !== now.config['size']) return true;
        changes.put('containers', name, { ...document, volume: kept(wanted) });
        return false;
      }),
    );
    if (isResized)
      await changeRoot(caller, name, (document) => {
        const { wanted } = decide(document);
        return { devices: resizedRoot(records, name, document, wanted), volume: kept(wanted) };
      });
    events.lifecycle('storage-volume-updated', volumeUrl(pool, 'container', name), caller);
  }

  async #writeSnapshot(
    caller: Caller,
    [pool, name, snapshot]: SnapshotPlace,
    next: (document: SnapshotDocument, now: DescribedVolume) => SnapshotDocument,
  ): Promise<void> {
    const { records, locks, events } = this.#deps;
    this.#need(pool, name);
    await locks.run(lockOf(name), () =>
      records.retry((changes) => {
        const { uuid } = readyContainer(records, name).document;
        const document = this.#read(name, uuid, snapshot);
        if (document.lifecycle !== 'ready') throw errors.badRequest(`The snapshot ${name}/${snapshot} is busy`);
        const now = describedVolume(records, name, document);
        changes.put('snapshots', ownedKey(uuid, snapshot), next(document, now));
      }),
    );
    const url = volumeUrl(pool, 'container', name, 'snapshots', snapshot);
    events.lifecycle('storage-volume-snapshot-updated', url, caller);
  }

  /** Throws AppError badRequest with all problems. */
  #check(pool: string, now: DescribedVolume, wanted: DescribedVolume): void {
    const problems = [
      ...volumeConfigProblems(this.#deps.pools, pool, wanted.config, now.config),
      ...ofCustomOnly(wanted),
    ];
    if (problems.length > 0) throw errors.invalid('storage volume', problems);
  }

  /** Throws AppError notFound. */
  #need(pool: string, name: string): ContainerDocument {
    this.#deps.pools.use(pool);
    const document = this.#deps.records.containers.get(name)?.document;
    if (document?.pool !== pool) throw errors.notFound('storage volume', `${pool}/container/${name}`);
    return document;
  }

  #read(container: string, uuid: string, snapshot: string): SnapshotDocument {
    const document = this.#deps.records.snapshots.get(ownedKey(uuid, snapshot))?.document;
    if (document === undefined) throw errors.notFound('snapshot', `${container}/${snapshot}`);
    return document;
  }

  #etag(container: string, document: SnapshotDocument): string {
    const { expiresAt } = document;
    return etagOf.volumeSnapshot({ ...describedVolume(this.#deps.records, container, document), expiresAt });
  }

  #render(container: string, { name, document }: OwnedRecord<'snapshots'>): VolumeSnapshot {
    const { description, config } = describedVolume(this.#deps.records, container, document);
    return { name, description, config, expires_at: document.expiresAt };
  }
}

function replacing(body: StorageVolumePut): Next {
  refuseRestore(body);
  return () => ({ description: body.description ?? '', config: withoutServerKeys(replaceConfig(body.config)) });
}

function merging(body: StorageVolumePut): Next {
  refuseRestore(body);
  return (now) => ({
    description: body.description ?? now.description,
    config: withoutServerKeys(mergeConfig(now.config, body.config)),
  });
}

function refuseRestore({ restore = '' }: StorageVolumePut): void {
  if (restore === '') return;
  throw errors.badRequest(
    'The volume of a container is restored with the container: PUT /1.0/containers/NAME with {"restore": SNAPSHOT}',
  );
}

/** The root disk keeps the size. */
function kept({ description, config }: DescribedVolume): NonNullable<ContainerDocument['volume']> {
  return { description, config: Object.fromEntries(Object.entries(config).filter(([key]) => key !== 'size')) };
}

const ofCustomOnly = ({ config }: DescribedVolume): Problem[] =>
  Object.keys(config)
    .filter((key) => key === 'security.unmapped' || key.startsWith('snapshots.'))
    .map((key) => ({ path: `config.${key}`, message: 'is a config key of custom volumes: set it on the container' }));

/** The root disk with that size; overrides one of a profile. */
function resizedRoot(
  records: Records,
  name: string,
  document: ContainerDocument,
  { config }: DescribedVolume,
): DeviceMap {
  const { devices } = expand(document, profilesOf(records, name));
  const root = rootDisk(devices);
  if (root === undefined) throw errors.badRequest(`The container ${name} has no root disk`);
  const { size: _before, ...rest } = devices[root.name] ?? {};
  const size = config['size'];
  return { [root.name]: size === undefined ? rest : { ...rest, size } };
}
