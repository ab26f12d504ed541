// Fetches images of other servers: once for all concurrent requests, verified, and added to this server.
import { rm } from 'node:fs/promises';
import { errors } from '../../api/errors.ts';
import { aliasUrl, plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import { aliasName } from '../../api/names.ts';
import type { ImageTarget, ImageRequest, RemoteImage, RemoteServer, Remotes } from '../../drivers/remote/driver.ts';
import { SharedWork } from '../../lib/shared-work.ts';
import type { ImageDocument, ImageSourceDocument } from '../../records/documents.ts';
import type { Caller } from '../shared/caller.ts';
import { counted, type Room } from '../shared/room.ts';
import { reachIn, reachOf } from '../limits/reach.ts';
import { imageIn, ofProject, projectWith } from '../shared/project-scope.ts';
import { storeImage, uploadPath, type AddImageDeps, type NewImage } from './add-image.ts';
import { imageLock, type OtherCopies } from './image-deps.ts';
import { imageSetting } from './image-settings.ts';
import { storedImage } from './image-files.ts';
import { lastingSource, type RemoteSource } from './remote-source.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export type ImagePullsDeps = AddImageDeps & {
  readonly members: OtherCopies;
  readonly remotes: Remotes;
  /** Max size of an image for the project. Undefined: no limit. */
  readonly room: (project: string) => Room | undefined;
  /** Architectures that this host can run, best first. */
  readonly architectures: readonly string[];
};

export interface PulledImage {
  readonly fingerprint: string;
  readonly size: string;
}

/** Settings that the caller wants for the image. */
export interface PullWish extends Pick<NewImage, 'filename' | 'public' | 'properties' | 'aliases'> {
  readonly autoUpdate: boolean;
  /** Also copies the source's aliases, as far as they are free here. */
  readonly copyAliases: boolean;
}

type Report = (metadata: Readonly<Record<string, unknown>>) => void;

export class ImagePulls {
  readonly #deps: ImagePullsDeps;
  readonly #fetches = new SharedWork<PulledImage>();

  constructor(deps: ImagePullsDeps) {
    this.#deps = deps;
  }

  /** `caller`: in the project that gets the image. */
  find(caller: Caller, remote: RemoteSource, isFresh: boolean, signal: AbortSignal): Promise<RemoteImage> {
    const { records } = this.#deps;
    const wanted: ImageRequest = {
      alias: remote.alias,
      fingerprint: remote.fingerprint,
      secret: remote.secret,
      project: remote.project,
      architectures: this.#deps.architectures,
      fresh: isFresh,
      reach: remote.isConfined === true ? reachIn(records, caller.project) : reachOf(records, caller),
    };
    return this.#deps.remotes.find(remote.server, wanted, signal);
  }

  /** For POST /1.0/images: keeps the image with these settings. Does not fetch one that is here already. */
  async pull(
    caller: Caller,
    remote: RemoteSource,
    wish: PullWish,
    report: Report,
    signal: AbortSignal,
  ): Promise<PulledImage> {
    const image = await this.find(caller, remote, false, signal);
    return this.keep(caller, image, sourceOf(caller, remote, image), wish, report, signal);
  }

  async keep(
    caller: Caller,
    image: RemoteImage,
    source: ImageSourceDocument | undefined,
    wish: PullWish,
    report: Report,
    signal: AbortSignal,
  ): Promise<PulledImage> {
    report({ fingerprint: image.fingerprint });
    const pulled = await this.fetch(caller, image, source, report, signal);
    signal.throwIfAborted();
    for (const name of await this.#adopt(caller, image, source, wish)) {
      this.#deps.events.lifecycle('image-alias-created', aliasUrl(name), caller);
    }
    return pulled;
  }

  /** The image at an address (source type `url`). */
  async pullUrl(
    caller: Caller,
    url: string,
    wish: PullWish,
    report: Report,
    signal: AbortSignal,
  ): Promise<PulledImage> {
    const server: RemoteServer = { server: url, protocol: 'direct', certificate: '' };
    return this.pull(caller, { server, alias: '', fingerprint: '', secret: '', project: '' }, wish, report, signal);
  }

  /** For a container: fetches it as a private, cached image unless it is here. Resolves to its fingerprint. */
  async pullForContainer(caller: Caller, remote: RemoteSource, report: Report, signal: AbortSignal): Promise<string> {
    const kept = this.#keptUpToDate(caller, remote) ?? this.#hasAlready(caller, remote);
    if (kept !== undefined && (await this.#isWhole(kept))) return plainName(kept);
    const image = await this.find(caller, remote, false, signal);
    const { fingerprint } = await this.fetch(caller, image, sourceOf(caller, remote, image), report, signal);
    return fingerprint;
  }

  /** Makes it a cached image of the caller's project, unless it is one. Another project's copy saves no download: only a caller who can
   *  fetch the whole content may have it. */
  async fetch(
    caller: Caller,
    image: RemoteImage,
    source: ImageSourceDocument | undefined,
    report: Report,
    signal: AbortSignal,
  ): Promise<PulledImage> {
    const { fingerprint } = image;
    const name = imageIn(this.#deps.records, caller.project, fingerprint);
    await this.#deps.members.fetch(name, signal);
    const known = this.#deps.records.images.get(name)?.document;
    if (known?.lifecycle === 'ready' && (await this.#isWhole(name)))
      return { fingerprint, size: String(known.sizeBytes) };
    return this.#fetches.run(
      name,
      (onProgress, shared) => this.#fetchAndStore(caller, name, image, source, onProgress, shared),
      (progress) => report({ download_progress: progress }),
      signal,
    );
  }

  /** Waits for a concurrent upload of the same image, and does nothing after it. */
  #fetchAndStore(
    caller: Caller,
    name: string,
    image: RemoteImage,
    source: ImageSourceDocument | undefined,
    onProgress: (progress: string) => void,
    signal: AbortSignal,
  ): Promise<PulledImage> {
    const { fingerprint } = image;
    return this.#deps.locks.run(imageLock(name), async () => {
      const known = this.#deps.records.images.get(name)?.document;
      if (known !== undefined && (await this.#isWhole(name))) return { fingerprint, size: String(known.sizeBytes) };
      const room = this.#deps.room(caller.project);
      const target = {
        metadataPath: await uploadPath(this.#deps.dir),
        rootfsPath: await uploadPath(this.#deps.dir),
        ...(room === undefined ? {} : { take: counted(room) }),
      };
      const { split } = await image.fetch(target, onProgress, signal);
      try {
        return await storeImage(this.#deps, caller, this.#newImage(caller, image, source, target, split), name, signal);
      } finally {
        // Moved by now, unless it was no image.
        await rm(target.metadataPath, { force: true });
        await rm(target.rootfsPath, { force: true });
      }
    });
  }

  /** False: its files differ in size from the record, so it is fetched again. */
  async #isWhole(name: string): Promise<boolean> {
    const document = this.#deps.records.images.get(name)?.document;
    if (document?.lifecycle !== 'ready') return document !== undefined;
    const { damage, dir } = this.#deps;
    return (await damage.bySize(storedImage(dir, plainName(name), document))) === undefined;
  }

  /** Cached at first: the caller's other settings are applied once it is here. */
  #newImage(
    { project }: Caller,
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
      autoUpdate:
        source !== undefined && imageSetting(this.#deps.records, project, 'images.auto_update_cached') === 'true',
      ...withoutUndefined({ source, expiresAt }),
    };
  }

  /** An auto-updated image fetched for the same alias is fresh enough. */
  #keptUpToDate({ project: asking }: Caller, { server, alias, project }: RemoteSource): string | undefined {
    const { records } = this.#deps;
    const owner = projectWith(records, asking, 'features.images');
    if (imageSetting(records, owner, 'images.auto_update_interval') === '0') return undefined;
    const kept = ofProject(records.images.list(), owner)
      .filter(({ document: { lifecycle, cached, autoUpdate, source } }) => {
        if (lifecycle !== 'ready' || !cached || !autoUpdate || source === undefined) return false;
        if (source.server !== server.server || source.protocol !== server.protocol) return false;
        return source.alias === alias && (source.project ?? '') === project;
      })
      .toSorted((a, b) => (a.document.createdAt < b.document.createdAt ? 1 : -1));
    return kept[0]?.name;
  }

  /** A fingerprint identifies the whole content: every server's copy is the same. */
  #hasAlready({ project }: Caller, { alias, fingerprint }: RemoteSource): string | undefined {
    const { records } = this.#deps;
    const known = alias === '' ? records.images.get(imageIn(records, project, fingerprint)) : undefined;
    return known?.document.lifecycle === 'ready' ? known.name : undefined;
  }

  /** An image requested by name stays until it is deleted by name. Resolves to its current aliases. */
  async #adopt(
    { project }: Caller,
    image: RemoteImage,
    source: ImageSourceDocument | undefined,
    wish: PullWish,
  ): Promise<readonly string[]> {
    const { records } = this.#deps;
    const { fingerprint } = image;
    const stored = imageIn(records, project, fingerprint);
    const aliasOf = (name: string): string => qualifiedName(projectOf(stored), name);
    const copied = wish.copyAliases
      ? image.aliases.filter(({ name }) => aliasName(name) === undefined && !records.aliases.has(aliasOf(name)))
      : [];
    const { names, kept } = await records.retry((changes) => {
      const document = records.images.get(stored)?.document;
      if (document?.lifecycle !== 'ready') throw errors.notFound('image', fingerprint);
      const after = adopted(document, source, wish);
      changes.put('images', stored, after);
      const named = new Map([...copied, ...wish.aliases].map((alias) => [aliasOf(alias.name), alias.description]));
      for (const [name, description] of named) {
        const known = records.aliases.get(name)?.document;
        if (known !== undefined && known.target !== fingerprint) throw errors.exists('image alias', plainName(name));
        changes.put('aliases', name, { v: 1, description, target: fingerprint });
      }
      return { names: [...named.keys()], kept: after };
    });
    await this.#deps.members.changeOthers(stored, kept);
    return names;
  }
}

/** The daemon's own updates are confined like the caller who chose the server. */
function sourceOf(caller: Caller, remote: RemoteSource, { fingerprint }: RemoteImage): ImageSourceDocument | undefined {
  const isConfined = remote.isConfined === true || caller.class === 'restricted';
  return lastingSource({ ...remote, isConfined }, fingerprint);
}

function adopted(
  { isReplaced: _over, ...document }: ImageDocument,
  source: ImageSourceDocument | undefined,
  wish: PullWish,
): ImageDocument {
  const { cached } = document;
  return {
    ...document,
    cached: false,
    public: wish.public || (!cached && document.public),
    autoUpdate: wish.autoUpdate || (!cached && document.autoUpdate),
    filename: wish.filename === '' ? document.filename : wish.filename,
    properties: { ...document.properties, ...wish.properties },
    ...withoutUndefined({ source }),
  };
}
