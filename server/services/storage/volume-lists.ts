// The storage volumes that a project sees: those of its containers, custom ones and images that it uses. Reads only.
import { rootDisk } from '../../api/devices/index.ts';
import { errors } from '../../api/errors.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { containerUrl, imageUrl, plainName, projectOf } from '../../api/project/project-names.ts';
import type { StorageVolume } from '../../api/storage/volume.ts';
import type { ContainerDocument, SnapshotDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { volumeKey } from '../../records/record-names.ts';
import { isUnpackedIn, unpackedImages } from '../shared/unpacked-images.ts';
import { expand } from '../shared/expand.ts';
import { ownedBy, type OwnedRecord } from '../shared/owned-records.ts';
import { profilesOf, projectWith, type ProjectFeature } from '../shared/project-scope.ts';
import type { Pools } from './pools.ts';
import { volumeUrl } from '../shared/volume-urls.ts';
import { volumeUsers } from './volume-users.ts';

export const volumeTypes = ['container', 'image', 'custom'] as const;
export type VolumeType = (typeof volumeTypes)[number];

type VolumeSnapshotEntry = OwnedRecord<'volumeSnapshots'> | OwnedRecord<'snapshots'>;

/** Client-set fields of a volume. */
export type DescribedVolume = Pick<StorageVolume, 'description' | 'config'>;

/** The root volume of a container or of its snapshot: its size is that of the root disk. */
export function describedVolume(
  records: Records,
  container: string,
  document: ContainerDocument | SnapshotDocument,
): DescribedVolume {
  const { devices } = expand(document, profilesOf(records, container));
  const root = rootDisk(devices);
  const size = root === undefined ? undefined : devices[root.name]?.['size'];
  const { description = '', config = {} } = document.volume ?? {};
  return { description, config: { ...config, ...(size === undefined || size === '' ? {} : { size }) } };
}

interface VolumeName {
  readonly type: VolumeType;
  readonly name: string;
}

export interface VolumeListsDeps {
  readonly records: Records;
  readonly pools: Pools;
  /** Name of this member of a cluster; `none` outside one. */
  readonly location: () => string;
  /** Absent: this member. Otherwise the records of another member, for the contents of its pools; image holders come from this member's
   *  records. */
  readonly elsewhere?: Records;
}

export class VolumeLists {
  readonly #records: Records;
  readonly #pools: Pools;
  readonly #location: () => string;
  readonly #elsewhere: Records | undefined;

  constructor({ records, pools, location, elsewhere }: VolumeListsDeps) {
    this.#records = records;
    this.#pools = pools;
    this.#location = location;
    this.#elsewhere = elsewhere;
  }

  /** Volumes and their snapshots; of all projects if none is given. */
  async urls(pool: string, project: string | undefined, type?: string): Promise<readonly string[]> {
    const volumes = await this.#of(pool, project, type);
    return volumes.flatMap((volume) => {
      const found = this.#snapshots(pool, volume);
      const url = volumeUrl(pool, volume.type, volume.name);
      return [url, ...found.map(({ name }) => volumeUrl(pool, volume.type, volume.name, 'snapshots', name))];
    });
  }

  /** Volumes and their snapshots, named VOLUME/SNAPSHOT. */
  async list(pool: string, project: string | undefined, type?: string): Promise<readonly StorageVolume[]> {
    const volumes = await this.#of(pool, project, type);
    return volumes.flatMap((volume) => {
      const object = this.render(pool, volume.type, volume.name);
      const found = this.#snapshots(pool, volume);
      return [object, ...found.map((snapshot) => this.#renderSnapshot(object, volume, snapshot))];
    });
  }

  /** Throws AppError notFound. */
  async need(pool: string, type: VolumeType, name: string): Promise<void> {
    const { driver, pool: spec } = this.#pools.use(pool);
    const isThere = {
      custom: () => this.#records.volumes.has(volumeKey({ pool, name })),
      container: () => this.#records.containers.get(name)?.document.pool === pool,
      image: async () => {
        const document = this.#records.images.get(name)?.document;
        if (document === undefined || !isUnpackedIn(document, pool)) return false;
        return driver.hasVolume(spec, { type: 'image', name: plainName(name) });
      },
    };
    if (await isThere[type]()) return;
    throw errors.notFound('storage volume', type === 'custom' ? `${pool}/${name}` : `${pool}/${type}/${name}`);
  }

  /** The volume exists. */
  render(pool: string, type: VolumeType, qualified: string): StorageVolume {
    const [name, project] = [plainName(qualified), projectOf(qualified)];
    if (type === 'image') {
      const used_by = [imageUrl(qualified)];
      return { name, type, description: '', config: {}, location: this.#location(), project, used_by };
    }
    if (type === 'container') {
      const document = this.#records.containers.get(qualified)?.document;
      if (document === undefined) throw errors.notFound('storage volume', `${pool}/container/${qualified}`);
      const used_by = [containerUrl(qualified)];
      const described = describedVolume(this.#records, qualified, document);
      return { name, type, ...described, location: this.#location(), project, used_by };
    }
    const volume = { pool, name: qualified };
    const document = this.#records.volumes.get(volumeKey(volume))?.document;
    if (document === undefined) throw errors.notFound('storage volume', volumeKey(volume));
    const { description, config } = document;
    const used_by = [...volumeUsers(this.#records, volume)];
    return { name, type, description, config: { ...config }, location: this.#location(), project, used_by };
  }

  /** Throws AppError notFound. */
  async snapshot(pool: string, type: VolumeType, name: string, snapshot: string): Promise<StorageVolume> {
    await this.need(pool, type, name);
    const found = this.#snapshots(pool, { type, name }).find((each) => each.name === snapshot);
    if (found === undefined) throw errors.notFound('snapshot', `${pool}/${type}/${name}/${snapshot}`);
    return this.#renderSnapshot(this.render(pool, type, name), { type, name }, found);
  }

  #renderSnapshot(volume: StorageVolume, { type, name }: VolumeName, snapshot: VolumeSnapshotEntry): StorageVolume {
    const used_by = type === 'container' ? [containerUrl(name, 'snapshots', snapshot.name)] : [];
    const described =
      'profiles' in snapshot.document
        ? describedVolume(this.#records, name, snapshot.document)
        : { description: snapshot.document.description, config: { ...snapshot.document.config } };
    return { ...volume, ...described, name: `${volume.name}/${snapshot.name}`, used_by };
  }

  #snapshots(pool: string, { type, name }: VolumeName): readonly VolumeSnapshotEntry[] {
    const custom = type === 'custom' ? this.#records.volumes.get(volumeKey({ pool, name }))?.document.uuid : undefined;
    const container = type === 'container' ? this.#records.containers.get(name)?.document.uuid : undefined;
    return [
      ...(custom === undefined ? [] : ownedBy(this.#records, 'volumeSnapshots', custom)),
      ...(container === undefined ? [] : ownedBy(this.#records, 'snapshots', container)),
    ];
  }

  /** An image that members have unpacked in a shared pool is listed once: by the member with the lowest number. */
  #isListedByOther(pool: string, image: string): boolean {
    const { member, pools } = this.#records;
    if (member === undefined || !isTrue(pools.get(pool)?.document.config['source.shared'])) return false;
    const all = this.#elsewhere ?? this.#records;
    const own = all.images.get(image);
    const holders = [
      ...(own === undefined ? [] : [{ ...own, member: all.member ?? 0 }]),
      ...all.others.having('images', image),
    ];
    return holders.some((holder) => holder.member < member && isUnpackedIn(holder.document, pool));
  }

  async #imagesIn(pool: string): Promise<readonly string[]> {
    const { images } = this.#records;
    if (this.#elsewhere !== undefined)
      return images.list().flatMap(({ name, document }) => (document.unpackedIn?.includes(pool) === true ? name : []));
    const { driver, pool: spec } = this.#pools.use(pool);
    const unpacked = (await driver.listVolumes(spec)).filter((volume) => volume.type === 'image');
    const fingerprints = unpacked.map(({ name }) => name);
    return unpackedImages(this.#records, pool, fingerprints).map(({ name }) => name);
  }

  /** Containers and custom volumes as recorded, images as unpacked in the pool. */
  async #of(pool: string, project: string | undefined, type?: string): Promise<readonly VolumeName[]> {
    this.#pools.use(pool);
    const wanted = type === undefined ? volumeTypes : [checkVolumeType(type)];
    const found: VolumeName[] = [];
    const add = (kind: VolumeType, names: readonly string[], feature?: ProjectFeature): void => {
      const owner =
        project === undefined || feature === undefined ? project : projectWith(this.#records, project, feature);
      for (const name of names) if (owner === undefined || projectOf(name) === owner) found.push({ type: kind, name });
    };
    if (wanted.includes('container')) {
      const inPool = this.#records.containers.list().filter(({ document }) => document.pool === pool);
      add(
        'container',
        inPool.map(({ name }) => name),
      );
    }
    if (wanted.includes('image')) {
      add(
        'image',
        (await this.#imagesIn(pool)).filter((name) => !this.#isListedByOther(pool, name)),
        'features.images',
      );
    }
    if (wanted.includes('custom')) {
      const own = this.#records.volumes.list().filter((entry) => entry.name.startsWith(`${pool}/`));
      add(
        'custom',
        own.map((entry) => entry.name.slice(pool.length + 1)),
        'features.storage.volumes',
      );
    }
    return found;
  }
}

export function checkVolumeType(type: string): VolumeType {
  const known = volumeTypes.find((each) => each === type);
  if (known !== undefined) return known;
  throw errors.invalid('storage volume', [
    { path: 'type', message: `must be one of ${volumeTypes.join(', ')}, is ${JSON.stringify(type)}` },
  ]);
}
