// Images and their files: reading, looking up, changing and deleting. Adding one is in add-image.ts.
import type { ContainerSource } from '../../api/container/container.ts';
import { errors } from '../../api/errors.ts';
import type { Image, ImagePut } from '../../api/image/image.ts';
import type { Operation } from '../../api/operation.ts';
import { detectFormat } from '../../drivers/image/format.ts';
import type { ImageFiles } from '../../drivers/storage/driver.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Entry } from '../../records/records.ts';
import type { Caller } from '../caller.ts';
import { checkIfMatch, etagOf } from '../etag.ts';
import { mergeConfig, replaceConfig } from '../patch.ts';
import { storedImage } from './image-files.ts';
import { deleteImageSaga } from './sagas/image-delete.ts';
import { type ImageStoreDeps, imageUrl, imageLock } from './image-deps.ts';
export { type ImageStoreDeps, imageUrl, imageLock } from './image-deps.ts';

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

  /** `trusted` false: public images only. */
  list(trusted: boolean): readonly Image[] {
    const aliases = this.#aliasesByTarget();
    return this.#deps.records.images
      .list()
      .filter(({ document }) => document.lifecycle === 'ready' && (trusted || document.public))
      .map((entry) => render(entry, aliases.get(entry.name) ?? []));
  }

  /** For callers without trust a private image is not there, unless they hold its secret. */
  get(prefix: string, trusted: boolean, secret?: string): { readonly object: Image; readonly etag: string } {
    const entry = this.visible(prefix, trusted, secret);
    const object = render(entry, this.#aliasesByTarget().get(entry.name) ?? []);
    return { object, etag: etagOf.image(entry.document) };
  }

  /** Private images that the caller may not see count for nothing, also not for whether a prefix is unique. */
  visible(prefix: string, trusted: boolean, secret?: string): Entry<ImageDocument> {
    const isOpen = ({ name, document }: Entry<ImageDocument>): boolean =>
      trusted || document.public || (secret !== undefined && this.#deps.secrets.use(name, secret));
    return this.#only(prefix, this.#matching(prefix).filter(isOpen));
  }

  /** By fingerprint or a unique prefix of it. */
  find(prefix: string): Entry<ImageDocument> {
    return this.#only(prefix, this.#matching(prefix));
  }

  #matching(prefix: string): readonly Entry<ImageDocument>[] {
    const exact = this.#deps.records.images.get(prefix);
    if (exact !== undefined && exact.document.lifecycle === 'ready') return [exact];
    if (!/^[0-9a-f]{1,64}$/.test(prefix)) return [];
    return this.#deps.records.images
      .list()
      .filter((entry) => entry.name.startsWith(prefix) && entry.document.lifecycle === 'ready');
  }

  #only(prefix: string, found: readonly Entry<ImageDocument>[]): Entry<ImageDocument> {
    if (found.length > 1) {
      throw errors.badRequest(`The fingerprint prefix ${prefix} fits ${found.length} images; give more of it`);
    }
    const [entry] = found;
    if (entry === undefined) throw errors.notFound('image', prefix);
    return entry;
  }

  /** The image that a container source means: by alias, fingerprint (prefix) or newest with all the properties. */
  resolve(source: Pick<ContainerSource, 'alias' | 'fingerprint' | 'properties'>): {
    readonly fingerprint: string;
    readonly document: ImageDocument;
  } {
    const entry = this.#resolve(source);
    return { fingerprint: entry.name, document: entry.document };
  }

  files(fingerprint: string): ImageFiles {
    return storedImage(this.#deps.dir, fingerprint, this.find(fingerprint).document);
  }

  /** The files of an image as they are handed out: one of a unified image, metadata then rootfs of a split one. */
  async parts(fingerprint: string): Promise<readonly ImagePart[]> {
    const files = this.files(fingerprint);
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

  /** After a container was made of it: remembers when (once a minute is exact enough for what expires after days), and drops
   *  the unpacked copy when the image was deleted meanwhile. */
  async #used(fingerprint: string): Promise<void> {
    const known = this.#deps.records.images.get(fingerprint);
    if (known === undefined) return this.#deps.pools.forgetImage(fingerprint);
    if (this.#deps.clock.nowMs() - Date.parse(known.document.lastUsedAt) < touchEveryMs) return;
    await this.#deps.records.retry((changes) => {
      const entry = this.#deps.records.images.get(fingerprint);
      if (entry === undefined) return;
      changes.put('images', fingerprint, { ...entry.document, lastUsedAt: this.#deps.clock.timestamp() });
    });
  }

  put(caller: Caller, prefix: string, body: ImagePut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, prefix, ifMatch, (document) => ({
      ...document,
      public: body.public ?? false,
      autoUpdate: body.auto_update ?? false,
      properties: replaceConfig(body.properties),
    }));
  }

  patch(caller: Caller, prefix: string, body: ImagePut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, prefix, ifMatch, (document) => ({
      ...document,
      public: body.public ?? document.public,
      autoUpdate: body.auto_update ?? document.autoUpdate,
      properties: mergeConfig(document.properties, body.properties),
    }));
  }

  delete(caller: Caller, prefix: string): Operation {
    const { records, sagas, operations } = this.#deps;
    const isUndoing = sagas.isUndoing('images', prefix);
    const fingerprint = isUndoing ? prefix : this.find(prefix).name;
    return operations.start({
      description: 'Deleting image',
      resources: { images: [imageUrl(fingerprint)] },
      run: async (_handle, signal) => {
        if (isUndoing) await sagas.settle('images', fingerprint);
        if (!isUndoing || records.images.has(fingerprint)) await this.remove(caller, fingerprint, signal);
      },
    });
  }

  /** Inside an operation. Whoever is making a container of it is waited for. */
  async remove(caller: Caller, fingerprint: string, signal: AbortSignal): Promise<void> {
    await this.#deps.locks.run(imageLock(fingerprint), async () => {
      this.find(fingerprint);
      await this.#deps.sagas.run(deleteImageSaga(this.#deps), { fingerprint }, { signal });
      this.#deps.events.lifecycle('image-deleted', imageUrl(fingerprint), undefined, caller.requestor);
    });
  }

  /** Its files stay until `work` has ended, also when it is deleted meanwhile; afterwards it counts as used. */
  async using<T>(fingerprint: string, work: () => Promise<T>): Promise<T> {
    this.find(fingerprint);
    try {
      return await this.#deps.users.during(fingerprint, work);
    } finally {
      await this.#used(fingerprint);
    }
  }

  /** An operation of class token whose metadata has the secret; it runs until used or cancelled. */
  secret(prefix: string): Operation {
    const { name: fingerprint } = this.find(prefix);
    const issued = this.#deps.secrets.issue(fingerprint);
    return this.#deps.operations.start({
      class: 'token',
      description: 'Image download token',
      resources: { images: [imageUrl(fingerprint)] },
      metadata: { secret: issued.secret },
      mayCancel: true,
      run: (_handle, signal) => issued.spent(signal),
    });
  }

  #resolve(source: Pick<ContainerSource, 'alias' | 'fingerprint' | 'properties'>): Entry<ImageDocument> {
    if (source.alias !== undefined && source.alias !== '') {
      const alias = this.#deps.records.aliases.get(source.alias);
      if (alias === undefined) throw errors.notFound('image alias', source.alias);
      return this.find(alias.document.target);
    }
    if (source.fingerprint !== undefined && source.fingerprint !== '') return this.find(source.fingerprint);
    const wanted = Object.entries(source.properties ?? {});
    if (wanted.length === 0) {
      throw errors.invalid('container', [
        { path: 'source', message: 'needs alias, fingerprint or properties to name an image' },
      ]);
    }
    const [newest] = this.#deps.records.images
      .list()
      .filter(({ document }) => document.lifecycle === 'ready')
      .filter(({ document }) => wanted.every(([key, value]) => document.properties[key] === value))
      .toSorted((a, b) => (a.document.createdAt < b.document.createdAt ? 1 : -1));
    if (newest === undefined)
      throw errors.badRequest(`No image has the properties ${JSON.stringify(source.properties)}`);
    return newest;
  }

  async #change(
    caller: Caller,
    prefix: string,
    ifMatch: string | undefined,
    next: (document: ImageDocument) => ImageDocument,
  ): Promise<void> {
    const { name } = this.find(prefix);
    await this.#deps.records.retry((changes) => {
      const { document } = this.find(name);
      checkIfMatch(ifMatch, etagOf.image(document), 'image', name);
      changes.put('images', name, next(document));
    });
    this.#deps.events.lifecycle('image-updated', imageUrl(name), undefined, caller.requestor);
  }

  #aliasesByTarget(): ReadonlyMap<string, readonly { readonly name: string; readonly description: string }[]> {
    const byTarget = new Map<string, { name: string; description: string }[]>();
    for (const { name, document } of this.#deps.records.aliases.list()) {
      const list = byTarget.get(document.target) ?? [];
      list.push({ name, description: document.description });
      byTarget.set(document.target, list);
    }
    return byTarget;
  }
}

function render(
  { name, document }: Entry<ImageDocument>,
  aliases: readonly { readonly name: string; readonly description: string }[],
): Image {
  return {
    fingerprint: name,
    aliases: aliases.map((alias) => ({ ...alias })),
    architecture: document.architecture,
    auto_update: document.autoUpdate,
    cached: document.cached,
    filename: document.filename,
    properties: { ...document.properties },
    ...(document.source === undefined ? {} : { update_source: { ...document.source } }),
    public: document.public,
    size: document.sizeBytes,
    created_at: document.createdAt,
    expires_at: document.expiresAt,
    last_used_at: document.lastUsedAt,
    uploaded_at: document.uploadedAt,
  };
}
