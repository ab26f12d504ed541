// Images and their files: reads, changes and deletes them; add-image.ts adds. Fingerprints and prefixes are qualified names:
// every lookup stays in the project of the given name.
import { errors } from '../../api/errors.ts';
import type { Image, ImageChange } from '../../api/image/image.ts';
import type { Operation } from '../../api/operation.ts';
import { imageUrl, plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import { detectFormat } from '../../drivers/image/format.ts';
import type { ImageFiles } from '../../drivers/storage/driver.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Changes } from '../../records/changes.ts';
import type { Entry } from '../../records/records.ts';
import { isOfMember, type Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { mergeConfig, replaceConfig } from '../shared/patch.ts';
import { ofProject, projectWith } from '../shared/project-scope.ts';
import { sentImageExpiry } from '../shared/snapshot-names.ts';
import { imageOfSource, imagesLike, inheritedLike, onlyImage, type NamedImage } from './find-image.ts';
import { renderImage } from './render-image.ts';
import { storedImage } from './image-files.ts';
import { holdersOf, imagesOfCluster, otherHolders } from '../../membership/cluster-images.ts';
import { isUnpackedIn } from '../shared/unpacked-images.ts';
import { deleteImageSaga } from './sagas/image-delete.ts';
import { imageFilesLock, imageLock, sharersOf, type ImageStoreDeps } from './image-deps.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

const touchEveryMs = 60_000;

export interface ImagePart {
  readonly field: string;
  readonly filename: string;
  readonly path: string;
}

export class ImageStore {
  readonly #deps: ImageStoreDeps;

  constructor(deps: ImageStoreDeps) {
    this.#deps = deps;
  }

  /** Images that the project uses, by qualified name. `trusted` false: its own public images only, even if the project does not exist. */
  list(project: string, trusted: boolean): readonly { readonly name: string; readonly object: Image }[] {
    const { records } = this.#deps;
    const owner = trusted ? projectWith(records, project, 'features.images') : project;
    return this.#shown(ofProject(imagesOfCluster(records), owner), trusted);
  }

  /** Lists the images of all projects. */
  listAll(): readonly { readonly name: string; readonly object: Image }[] {
    return this.#shown(imagesOfCluster(this.#deps.records), true);
  }

  #shown(
    images: readonly Entry<ImageDocument>[],
    trusted: boolean,
  ): readonly { readonly name: string; readonly object: Image }[] {
    const aliases = this.#aliasesByTarget();
    const locations = trusted ? this.#locations() : undefined;
    return images
      .filter(({ document }) => document.lifecycle === 'ready' && (trusted || document.public))
      .map((entry) => ({
        name: entry.name,
        object: renderImage(entry, aliases.get(entry.name) ?? [], locations?.(entry.name)),
      }));
  }

  /** The names of the members that have an image; undefined outside a cluster. */
  #locations(): ((image: string) => readonly string[]) | undefined {
    const { records } = this.#deps;
    if (records.member === undefined) return undefined;
    const names = new Map(records.members.list().map(({ name, document }) => [document.number, name]));
    return (image) => holdersOf(records, image).flatMap((number) => names.get(number) ?? []);
  }

  /** Callers without trust do not find a private image, unless they hold its secret. */
  get(prefix: string, trusted: boolean, secret?: string): { readonly object: Image; readonly etag: string } {
    const entry = this.visible(prefix, trusted, secret);
    const locations = trusted ? this.#locations()?.(entry.name) : undefined;
    const object = renderImage(entry, this.#aliasesByTarget().get(entry.name) ?? [], locations);
    return { object, etag: etagOf.image(entry.document) };
  }

  /** Private images that the caller may not see are ignored, also in whether a prefix is unique. */
  visible(prefix: string, trusted: boolean, secret?: string): Entry<ImageDocument> {
    const isOpened = ({ name }: Entry<ImageDocument>): boolean =>
      secret !== undefined && this.#deps.secrets.use(name, secret);
    const { records } = this.#deps;
    const own = imagesLike(records, prefix).filter((entry) => trusted || entry.document.public || isOpened(entry));
    return onlyImage(prefix, trusted || own.length > 0 ? own : inheritedLike(records, prefix).filter(isOpened));
  }

  /** By fingerprint or a unique prefix of it. */
  find(prefix: string): Entry<ImageDocument> {
    return onlyImage(prefix, imagesLike(this.#deps.records, prefix));
  }

  /** An image of this member: changes, damage and deletion concern local copies. */
  #own(image: string): Entry<ImageDocument> {
    const own = this.#deps.records.images.get(image);
    if (own?.document.lifecycle !== 'ready') throw errors.notFound('image', plainName(image));
    return own;
  }

  /** The image that a container source in the project means: by alias, fingerprint (prefix) or newest with all the properties. */
  resolve(project: string, source: NamedImage): { readonly image: string; readonly document: ImageDocument } {
    const { name, document } = imageOfSource(this.#deps.records, project, source);
    return { image: name, document };
  }

  files(image: string): ImageFiles {
    return storedImage(this.#deps.dir, plainName(image), this.find(image).document);
  }

  /** The files of an image for a download: one if unified, metadata then rootfs if split. */
  async parts(image: string): Promise<readonly ImagePart[]> {
    const fingerprint = plainName(image);
    const files = this.files(image);
    const damage = await this.#deps.damage.bySize(files);
    if (damage !== undefined) throw errors.internal(damage);
    const { metadataPath, rootfsPath } = files;
    const suffix = async (path: string): Promise<string> => `.${await detectFormat(path, 'image')}`;
    const name = `${fingerprint}${await suffix(metadataPath)}`;
    if (rootfsPath === undefined) return [{ field: 'image', filename: name, path: metadataPath }];
    return [
      { field: 'metadata', filename: `meta-${name}`, path: metadataPath },
      { field: 'rootfs', filename: `${fingerprint}${await suffix(rootfsPath)}`, path: rootfsPath },
    ];
  }

  /** Records the use by a new container (once a minute is exact enough for an expiry in days), and drops the unpacked copy if the image was
   *  deleted in between. */
  async #used(image: string, pool: string): Promise<void> {
    const { records, clock } = this.#deps;
    const known = records.images.get(image)?.document;
    if (known === undefined) return this.#forgetUnpacked(image);
    const isRecent = clock.nowMs() - Date.parse(known.lastUsedAt) < touchEveryMs;
    if (isRecent && isUnpackedIn(known, pool)) return;
    await records.retry((changes) => {
      const document = records.images.get(image)?.document;
      if (document === undefined) return;
      const unpackedIn = isUnpackedIn(document, pool) ? document.unpackedIn : [...(document.unpackedIn ?? []), pool];
      changes.put('images', image, {
        ...document,
        lastUsedAt: clock.timestamp(),
        ...withoutUndefined({ unpackedIn }),
      });
    });
  }

  #forgetUnpacked(image: string): Promise<void> {
    const { records, locks, pools } = this.#deps;
    return locks.run(imageFilesLock(image), async () => {
      if (!records.images.has(image) && sharersOf(records, image).length === 0)
        await pools.forgetImage(plainName(image));
    });
  }

  put(caller: Caller, prefix: string, body: ImageChange, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, prefix, ifMatch, (document) => ({
      ...document,
      public: body.public ?? false,
      autoUpdate: body.auto_update ?? false,
      properties: replaceConfig(body.properties),
      expiresAt: sentImageExpiry(body.expires_at) ?? document.expiresAt,
    }));
  }

  patch(caller: Caller, prefix: string, body: ImageChange, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, prefix, ifMatch, (document) => ({
      ...document,
      public: body.public ?? document.public,
      autoUpdate: body.auto_update ?? document.autoUpdate,
      properties: mergeConfig(document.properties, body.properties),
      expiresAt: sentImageExpiry(body.expires_at) ?? document.expiresAt,
    }));
  }

  /** `isOfAll`: on every member of the cluster that has it. */
  delete(caller: Caller, prefix: string, isOfAll = true): Operation {
    const { records, sagas, operations, members } = this.#deps;
    const isUndoing = sagas.isUndoing('images', prefix);
    const image = isUndoing ? prefix : this.find(prefix).name;
    if (isOfAll && otherHolders(records, image).length > 0)
      return members.delete(caller, image, (signal) => this.removeOfAll(caller, image, signal));
    return operations.start({
      description: 'Deleting image',
      resources: { images: [imageUrl(image)] },
      project: caller.project,
      run: async (_handle, signal) => {
        if (isUndoing) await sagas.finishUndo('images', image);
        if (!isUndoing || records.images.has(image)) await this.remove(isOfAll ? caller : undefined, image, signal);
      },
    });
  }

  /** Within an operation, on all members of the cluster that have it. */
  async removeOfAll(caller: Caller, image: string, signal: AbortSignal): Promise<void> {
    await this.#deps.members.removeAll(image, (each) => this.remove(undefined, image, each), signal);
    this.#deps.events.lifecycle('image-deleted', imageUrl(image), caller);
  }

  /** Within an operation, on this member only; without a caller no event is emitted. Waits for containers being made of it if no other
   *  project has it. `handOver`: see the saga. */
  async remove(
    caller: Caller | undefined,
    image: string,
    signal: AbortSignal,
    handOver?: (changes: Changes) => void,
  ): Promise<void> {
    const { locks, sagas, events } = this.#deps;
    await locks.runAll([imageLock(image), imageFilesLock(image)], async () => {
      this.#own(image);
      await sagas.run(deleteImageSaga(this.#deps, handOver), { fingerprint: image }, { signal });
      if (caller !== undefined) events.lifecycle('image-deleted', imageUrl(image), caller);
    });
  }

  /** Its files stay until `work` has ended, even if it is deleted; afterwards it counts as used in the pool. Throws AppError notFound if it
   *  is deleted before `work` begins. */
  async using<T>(image: string, pool: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.find(image);
    await this.#deps.members.fetch(image, signal);
    this.#own(image);
    try {
      return await this.#deps.users.during(plainName(image), work);
    } finally {
      await this.#used(image, pool);
    }
  }

  /** An operation of class token whose metadata has the secret; it runs until used or cancelled. */
  secret({ project }: Caller, prefix: string): Operation {
    const { name: image } = this.find(prefix);
    const issued = this.#deps.secrets.issue(image);
    return this.#deps.operations.start({
      class: 'token',
      description: 'Image download token',
      resources: { images: [imageUrl(image)] },
      project,
      metadata: { secret: issued.secret },
      mayCancel: true,
      run: (_handle, signal) => issued.spent(signal),
    });
  }

  async #change(
    caller: Caller,
    prefix: string,
    ifMatch: string | undefined,
    next: (document: ImageDocument) => ImageDocument,
  ): Promise<void> {
    const { name } = this.find(prefix);
    const changed = await this.#deps.records.retry((changes) => {
      const { document } = this.#own(name);
      checkIfMatch(ifMatch, etagOf.image(document), 'image', plainName(name));
      const after = next(document);
      changes.put('images', name, after);
      return after;
    });
    if (isOfMember(caller)) return;
    await this.#deps.members.changeOthers(name, changed);
    this.#deps.events.lifecycle('image-updated', imageUrl(name), caller);
  }

  #aliasesByTarget(): ReadonlyMap<string, readonly { readonly name: string; readonly description: string }[]> {
    const byTarget = new Map<string, { name: string; description: string }[]>();
    for (const { name, document } of this.#deps.records.aliases.list()) {
      const target = qualifiedName(projectOf(name), document.target);
      const list = byTarget.get(target) ?? [];
      list.push({ name: plainName(name), description: document.description });
      byTarget.set(target, list);
    }
    return byTarget;
  }
}
