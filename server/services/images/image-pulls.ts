// Images of other servers: fetched once however many ask at the same time, verified, and made images of this server.
import { rm } from 'node:fs/promises';
import { errors } from '../../api/errors.ts';
import { aliasName } from '../../api/names.ts';
import type { ImageTarget, ImageWanted, RemoteImage, RemoteServer, Remotes } from '../../drivers/remote/driver.ts';
import { SharedWork } from '../../lib/shared-work.ts';
import type { ImageDocument, ImageSourceDocument } from '../../records/documents.ts';
import type { Caller } from '../caller.ts';
import { settingOf } from '../server/settings.ts';
import { storeImage, uploadPath, type AddImageDeps, type NewImage } from './add-image.ts';
import { aliasUrl } from './aliases.ts';
import { imageLock } from './image-store.ts';
import { storedImage } from './image-files.ts';
import { lastingSource, type RemoteSource } from './remote-source.ts';

export type ImagePullsDeps = AddImageDeps & {
  readonly remotes: Remotes;
  /** What runs on this host, best first. */
  readonly architectures: readonly string[];
};

export interface Pulled {
  readonly fingerprint: string;
  readonly size: string;
}

/** What the caller wants the image to be. */
export interface PullWish {
  readonly filename: string;
  readonly public: boolean;
  readonly autoUpdate: boolean;
  readonly properties: Readonly<Record<string, string>>;
  readonly aliases: readonly { readonly name: string; readonly description: string }[];
  /** Those of the source too, as far as they are free here. */
  readonly copyAliases: boolean;
}

type Report = (metadata: Readonly<Record<string, unknown>>) => void;

export class ImagePulls {
  readonly #deps: ImagePullsDeps;
  readonly #fetches = new SharedWork<Pulled>();

  constructor(deps: ImagePullsDeps) {
    this.#deps = deps;
  }

  find(remote: RemoteSource, isFresh: boolean, signal: AbortSignal): Promise<RemoteImage> {
    const wanted: ImageWanted = {
      alias: remote.alias,
      fingerprint: remote.fingerprint,
      secret: remote.secret,
      architectures: this.#deps.architectures,
      fresh: isFresh,
    };
    return this.#deps.remotes.find(remote.server, wanted, signal);
  }

  /** For POST /1.0/images: afterwards the image is there to stay, as wished. One that was here already is not fetched again. */
  async pull(
    caller: Caller,
    remote: RemoteSource,
    wish: PullWish,
    report: Report,
    signal: AbortSignal,
  ): Promise<Pulled> {
    const image = await this.find(remote, false, signal);
    report({ fingerprint: image.fingerprint });
    const source = lastingSource(remote, image.fingerprint);
    const pulled = await this.fetch(caller, image, source, report, signal);
    signal.throwIfAborted();
    for (const name of await this.#adopt(image, source, wish)) {
      this.#deps.events.lifecycle('image-alias-created', aliasUrl(name), undefined, caller.requestor);
    }
    return pulled;
  }

  /** The image behind an address (source type `url`). */
  async pullUrl(caller: Caller, url: string, wish: PullWish, report: Report, signal: AbortSignal): Promise<Pulled> {
    const server: RemoteServer = { server: url, protocol: 'direct', certificate: '' };
    return this.pull(caller, { server, alias: '', fingerprint: '', secret: '' }, wish, report, signal);
  }

  /** For a container: fetched as a private, cached image unless it is here. Resolves to its fingerprint. */
  async pullForContainer(caller: Caller, remote: RemoteSource, report: Report, signal: AbortSignal): Promise<string> {
    const kept = this.#keptUpToDate(remote) ?? this.#hasAlready(remote);
    if (kept !== undefined && (await this.#isWhole(kept))) return kept;
    const image = await this.find(remote, false, signal);
    const source = lastingSource(remote, image.fingerprint);
    const { fingerprint } = await this.fetch(caller, image, source, report, signal);
    return fingerprint;
  }

  /** Makes it a cached image of this server, or finds that it is one. */
  async fetch(
    caller: Caller,
    image: RemoteImage,
    source: ImageSourceDocument | undefined,
    report: Report,
    signal: AbortSignal,
  ): Promise<Pulled> {
    const { fingerprint } = image;
    const known = this.#deps.records.images.get(fingerprint)?.document;
    if (known?.lifecycle === 'ready' && (await this.#isWhole(fingerprint)))
      return { fingerprint, size: String(known.sizeBytes) };
    return this.#fetches.run(
      fingerprint,
      (tell, shared) => this.#fetchAndStore(caller, image, source, tell, shared),
      (progress) => report({ download_progress: progress }),
      signal,
    );
  }

  /** Whoever uploads the same image at that time is waited for, and then nothing is to be done. */
  #fetchAndStore(
    caller: Caller,
    image: RemoteImage,
    source: ImageSourceDocument | undefined,
    tell: (progress: string) => void,
    signal: AbortSignal,
  ): Promise<Pulled> {
    const { fingerprint } = image;
    return this.#deps.locks.run(imageLock(fingerprint), async () => {
      const known = this.#deps.records.images.get(fingerprint)?.document;
      if (known !== undefined && (await this.#isWhole(fingerprint)))
        return { fingerprint, size: String(known.sizeBytes) };
      const target = { metadataPath: await uploadPath(this.#deps.dir), rootfsPath: await uploadPath(this.#deps.dir) };
      const { split } = await image.fetch(target, tell, signal);
      try {
        return await storeImage(this.#deps, caller, this.#newImage(image, source, target, split), fingerprint, signal);
      } finally {
        // Moved by now, unless it was no image.
        await rm(target.metadataPath, { force: true });
        await rm(target.rootfsPath, { force: true });
      }
    });
  }

  /** False: its files do not have the size of its record, so it is fetched again. */
  async #isWhole(fingerprint: string): Promise<boolean> {
    const document = this.#deps.records.images.get(fingerprint)?.document;
    if (document?.lifecycle !== 'ready') return document !== undefined;
    const { damage, dir } = this.#deps;
    return (await damage.bySize(storedImage(dir, fingerprint, document))) === undefined;
  }

  /** At first for the cache: what the caller wishes beyond that is said of it once it is there. */
  #newImage(
    { filename, properties, expiresAt }: RemoteImage,
    source: ImageSourceDocument | undefined,
    { metadataPath, rootfsPath }: ImageTarget,
    split: boolean,
  ): NewImage {
    return {
      metadataPath,
      ...(split ? { rootfsPath } : {}),
      filename,
      public: false,
      properties: properties ?? {},
      aliases: [],
      cached: true,
      autoUpdate: source !== undefined && settingOf(this.#deps.records, 'images.auto_update_cached') === 'true',
      ...(source === undefined ? {} : { source }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    };
  }

  /** An image that was fetched for the same alias and is kept up to date is as new as it has to be. */
  #keptUpToDate({ server, alias }: RemoteSource): string | undefined {
    if (settingOf(this.#deps.records, 'images.auto_update_interval') === '0') return undefined;
    const kept = this.#deps.records.images
      .list()
      .filter(({ document: { lifecycle, cached, autoUpdate, source } }) => {
        if (lifecycle !== 'ready' || !cached || !autoUpdate || source === undefined) return false;
        return source.server === server.server && source.protocol === server.protocol && source.alias === alias;
      })
      .toSorted((a, b) => (a.document.createdAt < b.document.createdAt ? 1 : -1));
    return kept[0]?.name;
  }

  /** Named by all of its content: whoever has it gives the same. */
  #hasAlready({ alias, fingerprint }: RemoteSource): string | undefined {
    const known = alias === '' ? this.#deps.records.images.get(fingerprint) : undefined;
    return known?.document.lifecycle === 'ready' ? known.name : undefined;
  }

  /** What is asked for by name stays until it is deleted by name. Resolves to the aliases that it has now. */
  async #adopt(
    image: RemoteImage,
    source: ImageSourceDocument | undefined,
    wish: PullWish,
  ): Promise<readonly string[]> {
    const { records } = this.#deps;
    const copied = wish.copyAliases
      ? image.aliases.filter(({ name }) => aliasName(name) === undefined && !records.aliases.has(name))
      : [];
    return records.retry((changes) => {
      const document = records.images.get(image.fingerprint)?.document;
      if (document?.lifecycle !== 'ready') throw errors.notFound('image', image.fingerprint);
      changes.put('images', image.fingerprint, adopted(document, source, wish));
      const named = new Map([...copied, ...wish.aliases].map((alias) => [alias.name, alias.description]));
      for (const [name, description] of named) {
        const known = records.aliases.get(name)?.document;
        if (known !== undefined && known.target !== image.fingerprint) throw errors.exists('image alias', name);
        changes.put('aliases', name, { v: 1, description, target: image.fingerprint });
      }
      return [...named.keys()];
    });
  }
}

function adopted(document: ImageDocument, source: ImageSourceDocument | undefined, wish: PullWish): ImageDocument {
  const { cached } = document;
  return {
    ...document,
    cached: false,
    public: wish.public || (!cached && document.public),
    autoUpdate: wish.autoUpdate || (!cached && document.autoUpdate),
    filename: wish.filename === '' ? document.filename : wish.filename,
    properties: { ...document.properties, ...wish.properties },
    ...(source === undefined ? {} : { source }),
  };
}
