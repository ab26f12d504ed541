// Keeps images current and the cache small: looks for newer images at their sources, on request and by itself, and lets go of
// cached ones that nothing used for long (real system 14.6).
import { errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { errorText, type Log } from '../../lib/log.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Caller } from '../caller.ts';
import { daemonCaller } from '../caller.ts';
import type { ScheduledTask } from '../server/scheduler.ts';
import { settingOf } from '../server/settings.ts';
import { aliasUrl } from './aliases.ts';
import type { ImagePulls } from './image-pulls.ts';
import { imageUrl, type ImageStore, type ImageStoreDeps } from './image-store.ts';
import { remoteOfDocument } from './remote-source.ts';

export type ImageRefreshDeps = Pick<ImageStoreDeps, 'records' | 'operations' | 'events' | 'clock'> & {
  readonly images: ImageStore;
  readonly pulls: ImagePulls;
  readonly log: Log;
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export class ImageRefresh {
  readonly #deps: ImageRefreshDeps;
  #updatedAtMs: number | undefined;
  #prunedAtMs: number | undefined;
  #updating: Promise<unknown> | undefined;

  constructor(deps: ImageRefreshDeps) {
    this.#deps = deps;
  }

  /** POST /1.0/images/FINGERPRINT/refresh: metadata.refreshed says whether there was a newer one. */
  refresh(caller: Caller, prefix: string): Operation {
    const { name: fingerprint } = this.#deps.images.find(prefix);
    return this.#deps.operations.start({
      description: 'Refreshing image',
      resources: { images: [imageUrl(fingerprint)] },
      mayCancel: true,
      run: async (handle, signal) => ({
        refreshed: await this.#refresh(caller, fingerprint, (metadata) => handle.update(metadata), signal),
      }),
    });
  }

  /** Both look every minute whether their time has come; the first time is soon after the daemon's start. */
  tasks(): readonly ScheduledTask[] {
    return [
      { name: 'Updating images', run: () => this.#updateAll() },
      { name: 'Pruning cached images', run: () => this.#prune() },
    ];
  }

  async #refresh(
    caller: Caller,
    fingerprint: string,
    report: (metadata: Readonly<Record<string, unknown>>) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { images, pulls } = this.#deps;
    const { source } = images.find(fingerprint).document;
    if (source === undefined) {
      throw errors.badRequest(
        `The image ${fingerprint} has no source to ask for a newer one: it was not pulled by an alias`,
      );
    }
    const newer = await pulls.find(remoteOfDocument(source), true, signal);
    if (newer.fingerprint === fingerprint) return false;
    await pulls.fetch(caller, newer, source, report, signal);
    signal.throwIfAborted();
    for (const name of await this.#takeOver(fingerprint, newer.fingerprint)) {
      this.#deps.events.lifecycle('image-alias-updated', aliasUrl(name), undefined, caller.requestor);
    }
    await images.remove(caller, fingerprint, signal);
    return true;
  }

  /** The new image takes the place of the old one: its aliases, its settings, its last use. Resolves to the aliases moved. */
  async #takeOver(from: string, to: string): Promise<readonly string[]> {
    const { records } = this.#deps;
    return records.retry((changes) => {
      const [old, now] = [records.images.get(from)?.document, records.images.get(to)?.document];
      if (now?.lifecycle !== 'ready') throw errors.notFound('image', to);
      if (old === undefined) return [];
      changes.put('images', to, successor(old, now));
      const moved = records.aliases.list().filter(({ document }) => document.target === from);
      for (const { name, document } of moved) changes.put('aliases', name, { ...document, target: to });
      return moved.map(({ name }) => name);
    });
  }

  /** Not waited for: other tasks must have their minute too. */
  #updateAll(): Promise<void> {
    const { records, clock, operations, log } = this.#deps;
    const hours = Number(settingOf(records, 'images.auto_update_interval'));
    const isDue = this.#updatedAtMs === undefined || clock.nowMs() - this.#updatedAtMs >= hours * hourMs;
    if (hours <= 0 || !isDue || this.#updating !== undefined) return Promise.resolve();
    this.#updatedAtMs = clock.nowMs();
    const due = records.images
      .list()
      .filter(({ document }) => document.lifecycle === 'ready' && document.autoUpdate && document.source !== undefined)
      .map(({ name }) => name);
    if (due.length === 0) return Promise.resolve();
    const operation = operations.start({
      description: 'Updating images',
      resources: { images: due.map(imageUrl) },
      mayCancel: true,
      run: (_handle, signal) => this.#updateEach(due, signal),
    });
    this.#updating = operations
      .wait(operation.id, undefined)
      .catch((error: unknown) => log.error(`Waiting for the update of images failed: ${errorText(error)}`))
      .finally(() => {
        this.#updating = undefined;
      });
    return Promise.resolve();
  }

  /** One that fails does not keep the others from their turn. */
  async #updateEach(due: readonly string[], signal: AbortSignal): Promise<void> {
    const failed: string[] = [];
    for (const fingerprint of due) {
      signal.throwIfAborted();
      // Deleted, or no longer to be kept current, while others had their turn.
      if (this.#deps.records.images.get(fingerprint)?.document.autoUpdate !== true) continue;
      await this.#refresh(daemonCaller, fingerprint, () => {}, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        failed.push(`${fingerprint.slice(0, 12)}: ${errorText(error)}`);
      });
    }
    if (failed.length > 0) throw new Error(`some images could not be updated: ${failed.join('; ')}`);
  }

  async #prune(): Promise<void> {
    const { records, clock, images, operations } = this.#deps;
    const days = Number(settingOf(records, 'images.remote_cache_expiry'));
    const isDue = this.#prunedAtMs === undefined || clock.nowMs() - this.#prunedAtMs >= hourMs;
    if (days <= 0 || !isDue) return;
    this.#prunedAtMs = clock.nowMs();
    const isOld = (fingerprint: string): boolean => {
      const document = records.images.get(fingerprint)?.document;
      return document !== undefined && isUnused(document, clock.nowMs() - days * dayMs);
    };
    const old = records.images
      .list()
      .map(({ name }) => name)
      .filter(isOld);
    if (old.length === 0) return;
    const operation = operations.start({
      description: 'Deleting cached images',
      resources: { images: old.map(imageUrl) },
      run: async (_handle, signal) => {
        for (const fingerprint of old) if (isOld(fingerprint)) await images.remove(daemonCaller, fingerprint, signal);
      },
    });
    await operations.wait(operation.id, undefined);
  }
}

/** A cached image whose last use, or its arrival if it was never used, was before that time. */
export function isUnused(document: ImageDocument, beforeMs: number): boolean {
  if (!document.cached || document.lifecycle !== 'ready') return false;
  const usedMs = Date.parse(document.lastUsedAt);
  // A newer one that took the place of an unused one is as unused.
  return (usedMs > 0 ? usedMs : Date.parse(document.uploadedAt)) < beforeMs;
}

function successor(old: ImageDocument, now: ImageDocument): ImageDocument {
  const { cached, autoUpdate, lastUsedAt, source } = old;
  // One that was here already, for its own sake, stays what it was.
  const kept = now.cached ? { cached, public: old.public } : { public: old.public || now.public };
  return { ...now, ...kept, autoUpdate, lastUsedAt, ...(source === undefined ? {} : { source }) };
}
