// Images in a cluster, where several members have copies: fetches one from another member, changes and deletes it on all that have it.
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { hasCode } from '../../lib/shared/error-code.ts';
import { errors, mustFind } from '../../api/errors.ts';
import type { ImageChange } from '../../api/image/image.ts';
import type { Operation } from '../../api/operation.ts';
import { imageUrl, plainName, projectOf } from '../../api/project/project-names.ts';
import { statusCodes } from '../../api/status.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { Member } from '../../membership/members.ts';
import { peerHeaders } from '../../membership/peer-headers.ts';
import { defaultLimits } from '../../drivers/remote/driver.ts';
import { saveParts } from '../../drivers/remote/multipart.ts';
import { checkFingerprint, meter, requireRoom, saveStream } from '../../drivers/remote/save.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { SharedWork } from '../../lib/shared-work.ts';
import type { ImageDocument } from '../../records/documents.ts';
import { daemonCaller, type Caller } from '../shared/caller.ts';
import { ofProject } from '../shared/project-scope.ts';
import { storeImage, uploadPath, type AddImageDeps } from './add-image.ts';
import { imageOfCluster, otherHolders } from '../../membership/cluster-images.ts';
import type { Pools } from '../storage/pools.ts';
import type { ImageUsers } from './image-users.ts';
import { imageLock } from './image-deps.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export type MemberImagesDeps = AddImageDeps & {
  readonly cluster: Cluster;
  readonly log: Log;
  readonly users: ImageUsers;
  readonly pools: Pools;
};

/** Headers and boundaries around the parts of an image. */
const framingBytes = 64 * 1024;
/** An image that reaches more members during its deletion is deleted there, too; for at most this many rounds. */
const rounds = 10;

export class MemberImages {
  readonly #deps: MemberImagesDeps;
  readonly #copies = new SharedWork<void>();

  constructor(deps: MemberImagesDeps) {
    this.#deps = deps;
  }

  /** Ensures that this member has the image, if any member has. Throws AppError unavailable if the members that have it are offline,
   *  notFound if it is deleted meanwhile. */
  async fetch(image: string, signal: AbortSignal): Promise<void> {
    if (this.#isHere(image) || otherHolders(this.#deps.records, image).length === 0) return;
    await this.#copies.run(
      image,
      (_tell, shared) => this.#deps.locks.run(imageLock(image), () => this.#copy(image, shared)),
      () => {},
      signal,
    );
  }

  /** Before a member leaves: copies here what only it has. Throws AppError badRequest if one cannot be copied; `isForced`: that one is lost
   *  to the cluster. */
  async fetchAllOf(member: Member, isForced: boolean, signal: AbortSignal): Promise<void> {
    const { records, cluster, log } = this.#deps;
    for (const { name: image, document } of records.others.of('images', member.number)) {
      const isLasting = document.lifecycle === 'ready' && document.isReplaced !== true;
      if (!isLasting || this.#hasOtherHolder(image, member.number)) continue;
      try {
        await this.fetch(image, signal);
      } catch (error) {
        signal.throwIfAborted();
        // It was deleted in between.
        if (imageOfCluster(records, image) === undefined) continue;
        const what = `The member ${member.name} has the only copy of the image ${plainName(image)}`;
        const why = `it cannot be copied to ${cluster.ownName}: ${errorText(error)}`;
        if (!isForced)
          throw errors.badRequest(`${what}, and ${why}. Delete the image, or remove the member with force and lose it`);
        log.warn(`${what}, which is lost to the cluster with it: ${why}`);
      }
    }
  }

  #hasOtherHolder(image: string, without: number): boolean {
    const { records, cluster } = this.#deps;
    const isLasting = (number: number): boolean => number !== without && cluster.members.isPresent(number);
    return this.#isHere(image) || otherHolders(records, image).some(({ member }) => isLasting(member));
  }

  /** Updates this copy from the member with the lowest number: this one may have missed a change. */
  async repair(image: string): Promise<void> {
    const { records } = this.#deps;
    await records.retry((changes) => {
      const own = records.images.get(image)?.document;
      const [first] = otherHolders(records, image);
      if (own?.lifecycle !== 'ready' || first === undefined || first.member > (records.member ?? 0)) return;
      const wanted = likeThat(own, first.document);
      if (JSON.stringify(wanted) !== JSON.stringify(own)) changes.put('images', image, wanted);
    });
  }

  /** Makes the same change on the other members that have the image. One that cannot be asked lags until the next change. */
  async changeOthers(image: string, changed: ImageDocument): Promise<void> {
    const { autoUpdate, properties, expiresAt } = changed;
    const body: ImageChange = {
      public: changed.public,
      auto_update: autoUpdate,
      properties: { ...properties },
      expires_at: expiresAt,
    };
    for (const member of this.#others(image)) {
      await this.#deps.cluster.ask(member, 'PUT', pathOf(image), body).catch((error: unknown) => {
        const what = `The image ${plainName(image)} is not changed on the cluster member ${member.name}`;
        this.#deps.log.warn(`${what}: ${errorText(error)}`);
      });
    }
  }

  /** One operation for all members that have it. Throws AppError unavailable while one of them is offline. */
  delete({ project }: Caller, image: string, remove: (signal: AbortSignal) => Promise<void>): Operation {
    this.#refuseOffline(image);
    return this.#deps.operations.start({
      description: 'Deleting image',
      resources: { images: [imageUrl(image)] },
      project,
      run: (_handle, signal) => remove(signal),
    });
  }

  /** Within an operation. Deletes its aliases, too. */
  async removeAll(
    image: string,
    removeHere: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { records, cluster } = this.#deps;
    this.#refuseOffline(image);
    for (let round = 0; round < rounds && imageOfCluster(records, image) !== undefined; round += 1) {
      for (const member of this.#others(image)) await this.#removeAt(member, image);
      if (records.images.has(image)) await removeHere(signal);
      await cluster.readBarrier();
    }
    await records.retry((changes) => {
      if (imageOfCluster(records, image) !== undefined) return;
      for (const { name, document } of ofProject(records.aliases.list(), projectOf(image)))
        if (document.target === plainName(image)) changes.delete('aliases', name);
    });
  }

  async #removeAt(member: Member, image: string): Promise<void> {
    const { cluster } = this.#deps;
    const begun = await cluster
      .ask<{ readonly id: string }>(member, 'DELETE', pathOf(image))
      .catch((error: unknown) => (hasCode(error, 'notFound') ? undefined : Promise.reject(error as Error)));
    if (begun === undefined) return;
    const project = encodeURIComponent(projectOf(image));
    const path = `/1.0/operations/${begun.id}/wait?project=${project}`;
    const ended = await cluster.ask<Pick<Operation, 'status_code' | 'err'>>(member, 'GET', path);
    if (ended.status_code === statusCodes.success) return;
    await cluster.readBarrier();
    // A replaced image is deleted there without being asked, perhaps at this moment.
    if (this.#others(image).some(({ number }) => number === member.number))
      throw errors.badRequest(`The image is left on the cluster member ${member.name}: ${ended.err}`);
  }

  /** The caller holds the lock of the image. */
  async #copy(image: string, signal: AbortSignal): Promise<void> {
    if (this.#isHere(image)) return;
    const fingerprint = plainName(image);
    const holders = otherHolders(this.#deps.records, image);
    const present = this.#others(image).filter(({ isPresent }) => isPresent);
    if (present.length === 0) {
      const names = holders.map(({ member }) => this.#deps.cluster.members.nameOf(member)).join(', ');
      throw errors.unavailable(`The image ${fingerprint} is only on cluster members that are offline: ${names}`);
    }
    const failed: string[] = [];
    for (const member of present) {
      try {
        return await this.#copyFrom(member, image, signal);
      } catch (error) {
        signal.throwIfAborted();
        mustFind(imageOfCluster(this.#deps.records, image), 'image', fingerprint);
        failed.push(`${member.name}: ${errorText(error)}`);
      }
    }
    throw errors.unavailable(`The image ${fingerprint} cannot be fetched from a cluster member: ${failed.join('; ')}`);
  }

  async #copyFrom(member: Member, image: string, signal: AbortSignal): Promise<void> {
    const { records, dir } = this.#deps;
    const document = mustFind(imageOfCluster(records, image)?.document, 'image', plainName(image));
    const target = { metadataPath: await uploadPath(dir), rootfsPath: await uploadPath(dir) };
    try {
      const split = await this.#receive(member, image, document.sizeBytes, target, signal);
      const { metadataPath, rootfsPath } = target;
      const like = split ? { metadataPath, rootfsPath } : { metadataPath };
      const { filename, properties } = document;
      const added = { ...like, filename, properties, public: document.public, aliases: [], copyOf: member.number };
      await storeImage(this.#deps, { ...daemonCaller, project: projectOf(image) }, added, image, signal);
      await this.#followOthers(image);
    } finally {
      // Moved by now, unless it was no image.
      await rm(target.metadataPath, { force: true });
      await rm(target.rootfsPath, { force: true });
    }
  }

  /** Resolves to whether it has two files; checks their content. */
  async #receive(
    member: Member,
    image: string,
    sizeBytes: number,
    target: { readonly metadataPath: string; readonly rootfsPath: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { cluster } = this.#deps;
    await requireRoom(target.metadataPath, sizeBytes);
    const path = pathOf(image, '/export');
    const answer = await cluster.links.request(member, {
      method: 'GET',
      path,
      headers: peerHeaders(cluster.ownName),
      signal,
    });
    if (answer.status !== 200) {
      answer.body.on('error', () => {}).destroy();
      throw errors.unavailable(`it answers with status ${answer.status}`);
    }
    const contentType = String(answer.headers['content-type'] ?? '');
    const split = contentType.toLowerCase().startsWith('multipart/form-data');
    const measured = meter({
      what: `the image from ${member.name}`,
      expectedBytes: sizeBytes,
      maxBytes: sizeBytes + (split ? framingBytes : 0),
      limits: defaultLimits,
      report: () => {},
    });
    const hash = createHash('sha256');
    const { body } = answer;
    if (split) await saveParts({ body, contentType, from: member.name }, target, hash, measured, signal);
    else await saveStream(measured(body), target.metadataPath, [hash], signal);
    checkFingerprint(member.name, plainName(image), hash.digest('hex'));
    return split;
  }

  /** Applies the other members' settings to the copy, also if they changed in between. */
  async #followOthers(image: string): Promise<void> {
    const { records, cluster } = this.#deps;
    await cluster.readBarrier();
    await records.retry((changes) => {
      const own = records.images.get(image)?.document;
      const [other] = otherHolders(records, image);
      if (own !== undefined && other !== undefined) changes.put('images', image, likeThat(own, other.document));
    });
  }

  #isHere(image: string): boolean {
    return this.#deps.records.images.get(image)?.document.lifecycle === 'ready';
  }

  #others(image: string): readonly Member[] {
    const { records, cluster } = this.#deps;
    return otherHolders(records, image).flatMap(({ member }) => cluster.members.byNumber(member) ?? []);
  }

  #refuseOffline(image: string): void {
    const offline = this.#others(image).filter(({ isPresent }) => !isPresent);
    if (offline.length === 0) return;
    const names = offline.map(({ name }) => name).join(', ');
    throw errors.unavailable(
      `The image ${plainName(image)} is also on cluster members that are offline: ${names}. Delete it when they are back, or remove them`,
    );
  }
}

/** Where a member has unpacked it, and when it was used there, stays that member's own. */
function likeThat(own: ImageDocument, other: ImageDocument): ImageDocument {
  const { filename, properties, autoUpdate, cached, createdAt, expiresAt, uploadedAt, source } = other;
  return {
    ...own,
    filename,
    properties,
    public: other.public,
    autoUpdate,
    cached,
    createdAt,
    expiresAt,
    uploadedAt,
    ...withoutUndefined({ source }),
  };
}

const pathOf = (image: string, part = ''): string =>
  `/1.0/images/${plainName(image)}${part}?project=${encodeURIComponent(projectOf(image))}`;
