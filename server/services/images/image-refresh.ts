// Updates images from their sources, on request and by schedule, and removes cached ones that were unused for long (real system 14.6).
import { errors } from '../../api/errors.ts';
import {
  aliasUrl,
  defaultProject,
  imageUrl,
  plainName,
  projectOf,
  qualifiedName,
} from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Changes } from '../../records/changes.ts';
import type { AliasDocument, ImageDocument } from '../../records/documents.ts';
import type { Entry } from '../../records/records.ts';
import { holdersOf, imageOfCluster, otherHolders } from '../../membership/cluster-images.ts';
import type { Cluster } from '../../membership/cluster.ts';
import { type Caller, daemonCaller } from '../shared/caller.ts';
import { ofProject } from '../shared/project-scope.ts';
import { warnOfFailure, type WarningSink } from '../warnings/warning-sink.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import type { ImagePulls } from './image-pulls.ts';
import type { ImageStoreDeps } from './image-deps.ts';
import { imageSetting } from './image-settings.ts';
import type { ImageStore } from './image-store.ts';
import { remoteOfDocument } from './remote-source.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export type ImageRefreshDeps = Pick<ImageStoreDeps, 'records' | 'operations' | 'events' | 'clock'> & {
  readonly images: ImageStore;
  readonly pulls: ImagePulls;
  readonly cluster: { readonly members: Pick<Cluster['members'], 'isPresent'> };
  readonly log: Log;
  readonly warnings: WarningSink;
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export class ImageRefresh {
  readonly #deps: ImageRefreshDeps;
  readonly #updated = new LastUpdates();
  readonly #pruned = new LastUpdates();
  /** Projects with a running update. */
  readonly #updating = new Set<string>();

  constructor(deps: ImageRefreshDeps) {
    this.#deps = deps;
  }

  /** POST /1.0/images/FINGERPRINT/refresh: metadata.refreshed says whether a newer one was found. */
  refresh(caller: Caller, prefix: string): Operation {
    const { name: image } = this.#deps.images.find(prefix);
    return this.#deps.operations.start({
      description: 'Refreshing image',
      resources: { images: [imageUrl(image)] },
      project: caller.project,
      mayCancel: true,
      run: async (handle, signal) => ({
        refreshed: await this.#refresh(caller, image, (metadata) => handle.update(metadata), signal),
      }),
    });
  }

  /** Both check every minute whether they are due; the first time is soon after the daemon's start. */
  tasks(): readonly ScheduledTask[] {
    return [
      { name: 'Updating images', run: () => this.#updateAll() },
      { name: 'Pruning cached images', run: () => this.#prune() },
    ];
  }

  async #refresh(
    caller: Caller,
    image: string,
    report: (metadata: Readonly<Record<string, unknown>>) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { images, pulls } = this.#deps;
    const { source } = images.find(image).document;
    if (source === undefined) {
      throw errors.badRequest(
        `The image ${plainName(image)} has no source to ask for a newer one: it was not pulled by an alias`,
      );
    }
    // Into the image's own project, whose images the caller's project may merely use.
    const owner = { ...caller, project: projectOf(image) };
    const newer = await pulls.find(owner, remoteOfDocument(source), true, signal);
    if (newer.fingerprint === plainName(image)) return false;
    await pulls.fetch(owner, newer, source, report, signal);
    signal.throwIfAborted();
    await this.#replace(caller, image, qualifiedName(owner.project, newer.fingerprint), signal);
    return true;
  }

  /** The new image inherits the old one's aliases, settings and last use. */
  async #replace(caller: Caller, from: string, to: string, signal: AbortSignal): Promise<void> {
    const { records, images, events, cluster } = this.#deps;
    let moved: readonly Entry<AliasDocument>[] = [];
    const handOver = (changes: Changes): void => {
      const [old, now] = [records.images.get(from)?.document, records.images.get(to)?.document];
      if (now?.lifecycle !== 'ready') throw errors.notFound('image', plainName(to));
      if (old !== undefined) changes.put('images', to, successor(old, now));
      moved = ofProject(records.aliases.list(), projectOf(from)).filter(
        ({ document }) => document.target === plainName(from),
      );
      for (const { name, document } of moved) changes.put('aliases', name, { ...document, target: plainName(to) });
      // If this daemon dies before it has asked the other members, they delete their copies without being asked.
      for (const other of otherHolders(records, from))
        changes.putOther('images', other, { ...other.document, isReplaced: true });
    };
    await images.remove(undefined, from, signal, handOver).catch((error: unknown) => {
      // Another request may have deleted it meanwhile.
      if (records.images.has(from)) throw error;
    });
    for (const { name } of moved) events.lifecycle('image-alias-updated', aliasUrl(name), caller);
    // No member waits for one that is offline: each deletes its copy by itself, the offline one when it is back.
    const isAnyOffline = otherHolders(records, from).some(({ member }) => !cluster.members.isPresent(member));
    if (!isAnyOffline) await images.removeOfAll(caller, from, signal);
  }

  /** One operation per project: none shows another project's images. Not awaited: other tasks need their minute, too. */
  #updateAll(): Promise<void> {
    const due = this.#byProject(
      ({ name, document }) =>
        document.lifecycle === 'ready' && document.autoUpdate && document.source !== undefined && this.#isFirst(name),
    );
    for (const [project, images] of due) this.#updateProject(project, images);
    return Promise.resolve();
  }

  /** The present member with the lowest number, among those that have the image, updates it for all. */
  #isFirst(image: string): boolean {
    const { records, cluster } = this.#deps;
    const first = holdersOf(records, image).find((holder) => cluster.members.isPresent(holder));
    return first === undefined || first === (records.member ?? 0);
  }

  #updateProject(project: string, images: readonly string[]): void {
    const { records, clock, operations, log } = this.#deps;
    const hours = Number(imageSetting(records, project, 'images.auto_update_interval'));
    if (hours <= 0 || this.#updating.has(project) || !this.#updated.isDue(project, hours * hourMs, clock.nowMs()))
      return;
    if (images.length === 0) return;
    const operation = operations.start({
      description: 'Updating images',
      resources: { images: images.map(imageUrl) },
      mayCancel: true,
      run: (_handle, signal) => this.#updateEach(images, signal),
    });
    this.#updating.add(project);
    void operations
      .wait(operation.id, undefined)
      .catch((error: unknown) => log.error(`Waiting for the update of images failed: ${errorText(error)}`))
      .finally(() => this.#updating.delete(project));
  }

  /** A failure does not stop the remaining updates. */
  async #updateEach(due: readonly string[], signal: AbortSignal): Promise<void> {
    const failed: string[] = [];
    for (const image of due) {
      signal.throwIfAborted();
      // It was deleted, or auto-update was switched off, in between; or another member does it.
      if (this.#deps.records.images.get(image)?.document.autoUpdate !== true || !this.#isFirst(image)) continue;
      const about = { type: 'imageUpdate', entity: { kind: 'images', name: image }, signal } as const;
      const refresh = () => this.#refresh(daemonCaller, image, () => {}, signal);
      await warnOfFailure(this.#deps.warnings, about, refresh).catch((error: unknown) => {
        signal.throwIfAborted();
        failed.push(`${plainName(image).slice(0, 12)}: ${errorText(error)}`);
      });
    }
    if (failed.length > 0) throw new Error(`some images could not be updated: ${failed.join('; ')}`);
  }

  async #prune(): Promise<void> {
    for (const [project, cached] of this.#byProject(({ document }) => document.cached))
      await this.#pruneProject(project, cached);
  }

  async #pruneProject(project: string, cached: readonly string[]): Promise<void> {
    const { records, clock, images, operations } = this.#deps;
    const days = Number(imageSetting(records, project, 'images.remote_cache_expiry'));
    if (days <= 0 || !this.#pruned.isDue(project, hourMs, clock.nowMs())) return;
    const isOld = (image: string): boolean => {
      if (!records.images.has(image)) return false;
      // Used on any member: the others would fetch it again from the members that keep it.
      const document = imageOfCluster(records, image)?.document;
      return document !== undefined && isUnused(document, clock.nowMs() - days * dayMs);
    };
    const old = cached.filter(isOld);
    if (old.length === 0) return;
    const operation = operations.start({
      description: 'Deleting cached images',
      resources: { images: old.map(imageUrl) },
      run: async (_handle, signal) => {
        for (const image of old) if (isOld(image)) await images.remove(daemonCaller, image, signal);
      },
    });
    await operations.wait(operation.id, undefined);
  }

  /** Qualified names of the matching images. */
  #byProject(fits: (image: Entry<ImageDocument>) => boolean): ReadonlyMap<string, readonly string[]> {
    const { images, projects } = this.#deps.records;
    // Includes projects without images: they count as updated, too.
    const found = new Map<string, string[]>(
      [defaultProject, ...projects.list().map(({ name }) => name)].map((name) => [name, []]),
    );
    for (const image of images.list().filter(fits)) {
      const project = projectOf(image.name);
      found.set(project, [...(found.get(project) ?? []), image.name]);
    }
    return found;
  }
}

/** The time of the last update of each project. */
class LastUpdates {
  readonly #last = new Map<string, number>();

  /** True at most once in that span of time; a clock that was set back prolongs it no further. */
  isDue(project: string, spanMs: number, nowMs: number): boolean {
    const last = this.#last.get(project);
    if (last !== undefined && Math.abs(nowMs - last) < spanMs) return false;
    this.#last.set(project, nowMs);
    return true;
  }
}

/** A cached image last used, or added if never used, before that time. */
export function isUnused(document: ImageDocument, beforeMs: number): boolean {
  if (!document.cached || document.lifecycle !== 'ready') return false;
  const usedMs = Date.parse(document.lastUsedAt);
  // The successor of an unused image counts as unused.
  return (usedMs > 0 ? usedMs : Date.parse(document.uploadedAt)) < beforeMs;
}

function successor(old: ImageDocument, { isReplaced: _over, ...now }: ImageDocument): ImageDocument {
  const { cached, autoUpdate, lastUsedAt, source } = old;
  // An image that was added explicitly keeps its settings.
  const kept = now.cached ? { cached, public: old.public } : { public: old.public || now.public };
  return { ...now, ...kept, autoUpdate, lastUsedAt, ...withoutUndefined({ source }) };
}
