// Publishes an image made of a stopped container or of a snapshot, packed as a stream (spec 4.8; real system 14.2).
import { rm } from 'node:fs/promises';
import { errors } from '../../../api/errors.ts';
import type { ImagePost } from '../../../api/image/image.ts';
import type { Operation } from '../../../api/operation.ts';
import { detectFormat } from '../../../drivers/image/format.ts';
import { fingerprintImage } from '../../../drivers/image/files.ts';
import { parseMetadata, renderMetadata, type ImageMetadata } from '../../../drivers/image/metadata.ts';
import { tarEnd, tarFile } from '../../../drivers/image/tar-file.ts';
import { readTar } from '../../../drivers/image/tar-reader.ts';
import { progressText } from '../../../drivers/remote/save.ts';
import type { PoolSpec, StorageDriver, TreeRef } from '../../../drivers/storage/driver.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { containerUrl, qualifiedName } from '../../../api/project/project-names.ts';
import { sentImageExpiry } from '../../shared/snapshot-names.ts';
import { filesAt } from '../../storage/pools.ts';
import { imageRoom } from '../../limits/image-room.ts';
import type { Room } from '../../shared/room.ts';
import { imageIn } from '../../shared/project-scope.ts';
import { snapshotKey } from '../../containers/shared/snapshot-records.ts';
import { snapshotUrlOf } from '../../containers/snapshots/snapshots.ts';
import { readMetadataText } from '../../containers/files/volume-files.ts';
import { ownersOf, type OwnerOf } from '../migration/owners.ts';
import { packerOf, packInto, type Write } from '../../shared/compression.ts';
import { storeImage, uploadPath, type AddImageDeps, type NewImage } from '../../images/add-image.ts';
import { imageLock } from '../../images/image-deps.ts';
import { imageSetting } from '../../images/image-settings.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export type PublishDeps = AddImageDeps & Pick<ContainerDeps, 'pools' | 'runtime' | 'idMaps'>;

interface Origin {
  readonly container: string;
  readonly snapshot: string | undefined;
  /** The container's document, with the snapshot's values. */
  readonly document: ContainerDocument;
}

type Report = (metadata: Readonly<Record<string, unknown>>) => void;

/** Throws at once: no such source (notFound), running, a packing that this host lacks (badRequest). */
export async function publishImage(
  deps: PublishDeps,
  caller: Caller,
  body: ImagePost,
  aliases: NewImage['aliases'],
): Promise<Operation> {
  const { container: name, snapshot } = readName(body.source);
  const container = qualifiedName(caller.project, name);
  findOrigin(deps, container, snapshot);
  const expiry = sentImageExpiry(body.expires_at);
  const asked = body.compression_algorithm ?? '';
  const packer = await packerOf(
    asked === '' ? imageSetting(deps.records, caller.project, 'images.compression_algorithm') : asked,
  );
  return deps.operations.start({
    description: 'Publishing image',
    resources:
      snapshot === undefined
        ? { containers: [containerUrl(container)] }
        : { containers: [containerUrl(container)], snapshots: [snapshotUrlOf(container, snapshot)] },
    mayCancel: true,
    run: async (handle, signal) => {
      const path = await uploadPath(deps.dir);
      const report: Report = (metadata) => handle.update(metadata);
      try {
        // Nobody can change, delete or rename the container while it is packed.
        await deps.locks.runShared(lockOf(container), (share) =>
          pack(
            deps,
            findOrigin(deps, container, snapshot),
            body.properties ?? undefined,
            { path, packer, report, share, room: imageRoom(deps.records, caller.project) },
            signal,
          ),
        );
        // Not every program on the path produces something that can be unpacked again.
        await detectFormat(path, 'published image');
        const fingerprint = await fingerprintImage({ metadataPath: path }, signal);
        report({ fingerprint });
        const image: NewImage = {
          metadataPath: path,
          filename: body.filename ?? '',
          public: body.public ?? false,
          properties: {},
          aliases,
          ...withoutUndefined({ expiresAt: expiry }),
        };
        const stored = imageIn(deps.records, caller.project, fingerprint);
        return await deps.locks.run(imageLock(stored), () => storeImage(deps, caller, image, stored, signal));
      } finally {
        await rm(path, { force: true });
      }
    },
  });
}

function readName({ type, name = '' }: ImagePost['source']): {
  readonly container: string;
  readonly snapshot: string | undefined;
} {
  const slash = name.indexOf('/');
  const say = (message: string) => errors.invalid('image', [{ path: 'source.name', message }]);
  if (type === 'container') {
    if (name === '' || slash >= 0) throw say(`must be the name of a container, is ${JSON.stringify(name)}`);
    return { container: name, snapshot: undefined };
  }
  if (slash <= 0 || slash === name.length - 1) throw say(`must be CONTAINER/SNAPSHOT, is ${JSON.stringify(name)}`);
  return { container: name.slice(0, slash), snapshot: name.slice(slash + 1) };
}

function findOrigin(deps: PublishDeps, container: string, snapshot: string | undefined): Origin {
  const { document } = readyContainer(deps.records, container);
  if (snapshot === undefined) {
    if (deps.runtime.probe(container).status !== 'stopped') throw errors.running(container, 'publishing it');
    return { container, snapshot, document };
  }
  const found = deps.records.snapshots.get(snapshotKey(document.uuid, snapshot))?.document;
  if (found?.lifecycle !== 'ready') throw errors.notFound('snapshot', `${container}/${snapshot}`);
  const { architecture, config, createdAt } = found;
  return { container, snapshot, document: { ...document, architecture, config, createdAt } };
}

/** The volume's files that belong in an image; its metadata is generated. */
const isPartOfImage = (name: string): boolean => /^(\.\/)?(rootfs|templates)(\/|$)/.test(name);

interface Target {
  readonly path: string;
  readonly packer: readonly string[] | undefined;
  readonly report: Report;
  readonly room: Room | undefined;
  /** Call when the container may be used again. */
  readonly share: () => void;
}

async function pack(
  deps: PublishDeps,
  origin: Origin,
  properties: Readonly<Record<string, string>> | undefined,
  to: Target,
  signal: AbortSignal,
): Promise<void> {
  const { container, snapshot, document } = origin;
  const { driver, pool } = deps.pools.use(document.pool);
  const volume = { type: 'container', name: container } as const;
  const ownerOf = await ownersOf(deps, document.pool, { volume, ...withoutUndefined({ snapshot }) });
  const packOf = async (from: TreeRef, dir: string): Promise<void> => {
    const metadata = await metadataOf(dir, origin, properties);
    await packFiles({ driver, pool, from, metadata, ...withoutUndefined({ ownerOf }) }, to, signal);
  };
  if (snapshot !== undefined) {
    to.share();
    const path = driver.snapshotPath(pool, { volume, snapshot });
    return filesAt(driver, path, () => packOf({ volume, snapshot }, path));
  }
  await driver.holdStill(
    pool,
    volume,
    async ({ from, path, isStill }) => {
      // Otherwise a start would change the files.
      if (isStill) to.share();
      await packOf(from, path);
    },
    signal,
  );
}

interface Files {
  readonly driver: StorageDriver;
  readonly pool: PoolSpec;
  readonly from: TreeRef;
  readonly metadata: ImageMetadata;
  readonly ownerOf?: OwnerOf;
}

async function packFiles(
  { driver, pool, from, metadata, ownerOf }: Files,
  to: Target,
  signal: AbortSignal,
): Promise<void> {
  const fill = async (write: Write): Promise<void> => {
    await write(tarFile('metadata.yaml', Buffer.from(await renderMetadata(metadata)), metadata.creation_date));
    const counted = counting(write, to.report);
    await driver.exportVolume(
      pool,
      from,
      { kind: 'tar', ...withoutUndefined({ ownerOf }) },
      async (bytes) => {
        for await (const member of readTar(bytes, () => Number.MAX_SAFE_INTEGER)) {
          if (!isPartOfImage(member.name)) continue;
          for await (const block of member.blocks()) await counted(block);
        }
      },
      signal,
    );
    await write(tarEnd);
  };
  await packInto(to.path, to.packer, fill, signal, to.room);
}

/** Its image's metadata, with the requested properties; for a container without an image, what is known. */
async function metadataOf(
  dir: string,
  { container, document }: Origin,
  properties: Readonly<Record<string, string>> | undefined,
): Promise<ImageMetadata> {
  const text = await readMetadataText(dir, `container ${container}`);
  const known =
    text === undefined
      ? {
          creation_date: Math.floor(Date.parse(document.createdAt) / 1000),
          expiry_date: 0,
          properties: {},
          templates: {},
        }
      : await parseMetadata(text);
  const wished = properties !== undefined && Object.keys(properties).length > 0 ? properties : known.properties;
  return { ...known, architecture: document.architecture, properties: wished };
}

const reportEveryMs = 500;

function counting(write: Write, report: Report): Write {
  const started = performance.now();
  let reported = started;
  let bytes = 0;
  return async (chunk) => {
    await write(chunk);
    bytes += chunk.length;
    const now = performance.now();
    if (now - reported < reportEveryMs) return;
    reported = now;
    report({
      create_image_from_container_pack_progress: `Image pack: ${progressText(bytes, undefined, now - started)}`,
    });
  };
}
