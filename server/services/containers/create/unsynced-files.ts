// Tracks files of new containers that are not on the disk yet: the record is marked from the creation until they are; after a power cut in
// between a warning says so.
import type { ServiceParts } from '../../shared/service-parts.ts';
import { dirname } from 'node:path';
import { plainName } from '../../../api/project/project-names.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { readBootId } from '../../../lib/shared/processes.ts';
import { syncTree } from '../../../drivers/storage/copy-tree.ts';
import type { VolumeSource } from '../../../drivers/storage/driver.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { Entry, Records } from '../../../records/records.ts';
import type { ScheduledTask } from '../../shared/scheduler.ts';
import type { Pools } from '../../storage/pools.ts';
import { warnedContainer } from '../../warnings/warned-objects.ts';
import type { WarningBook } from '../../warnings/warning-book.ts';

type Mark = Pick<ContainerDocument, 'unsynced'>;
type MarkedContainer = Entry<ContainerDocument>;

/** The boot id during which the files are written; undefined if they are synced before the creation ends, or there are none. */
export function unsyncedMark(records: Pick<Records, 'pools'>, pool: string, source: VolumeSource): Mark {
  const isSynced = isTrue(records.pools.get(pool)?.document.config['sync.volumes'] ?? '');
  return isSynced || source.kind === 'empty' || source.kind === 'tree' ? {} : { unsynced: readBootId() };
}

export function withoutMark(document: ContainerDocument): ContainerDocument {
  const { unsynced: _mark, ...rest } = document;
  return rest;
}

export interface UnsyncedFilesDeps extends Pick<ServiceParts, 'records' | 'log'> {
  readonly pools: Pick<Pools, 'use' | 'volumePath'>;
  readonly book: Pick<WarningBook, 'seen' | 'write'>;
  /** False: the store is full at the moment. */
  readonly canWrite: () => boolean;
}

/** Max records per transaction. */
const atOnce = 50;

export class UnsyncedFiles {
  readonly #deps: UnsyncedFilesDeps;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: UnsyncedFilesDeps) {
    this.#deps = deps;
  }

  task(): ScheduledTask {
    return { name: 'Syncing the files of new containers', run: (_minute, signal) => this.sync(signal) };
  }

  /** Warns of marks from an earlier boot of the host; syncs the files of all marked containers, and removes the marks. Never throws: the
   *  next run retries failures. */
  sync(signal: AbortSignal): Promise<void> {
    this.#running = this.#running.then(() =>
      this.#syncNow(signal).catch((error: unknown) =>
        this.#deps.log.debug(`Syncing the files of new containers failed: ${errorText(error)}`),
      ),
    );
    return this.#running;
  }

  async #syncNow(signal: AbortSignal): Promise<void> {
    const { records, canWrite } = this.#deps;
    const marked = records.containers
      .list()
      .filter(({ document }) => document.unsynced !== undefined && document.lifecycle === 'ready');
    if (marked.length === 0 || !canWrite()) return;
    const boot = readBootId();
    await this.#warn(marked.filter(({ document }) => document.unsynced !== boot));
    for (const pool of new Set(marked.map(({ document }) => document.pool))) {
      const ofPool = marked.filter(({ document }) => document.pool === pool);
      if (await this.#syncPool(pool, ofPool, signal)) await this.#removeMarks(ofPool);
    }
  }

  async #warn(lost: readonly MarkedContainer[]): Promise<void> {
    if (lost.length === 0) return;
    const { records, book, log } = this.#deps;
    for (const { name, document } of lost) {
      const message =
        `The host went down before the files of the container ${plainName(name)} (created ${document.createdAt}) were on the disk of the pool ` +
        `${document.pool}: some may be empty or missing. Delete it and create or copy it anew, or check its files`;
      log.warn(message, { container: name });
      book.seen('unsyncedFiles', message, warnedContainer(records, name));
    }
    // Marks are removed only after the warning is stored.
    await book.write(true);
  }

  /** Syncs the file system of all of the pool's containers, or each container's own. */
  async #syncPool(pool: string, marked: readonly MarkedContainer[], signal: AbortSignal): Promise<boolean> {
    const { pools, log } = this.#deps;
    try {
      const own = pools.use(pool).driver.capabilities.ownFileSystems === true;
      const paths = marked.map(({ name }) => pools.volumePath(pool, { type: 'container', name }));
      for (const path of own ? paths : paths.slice(0, 1).map((each) => dirname(each))) await syncTree(path, signal);
      return true;
    } catch (error) {
      log.debug(`Syncing the pool ${pool} failed: ${errorText(error)}`);
      return false;
    }
  }

  async #removeMarks(marked: readonly MarkedContainer[]): Promise<void> {
    const { records } = this.#deps;
    for (let from = 0; from < marked.length; from += atOnce)
      await records.retry((changes) => {
        for (const { name, document } of marked.slice(from, from + atOnce)) {
          const now = records.containers.get(name)?.document;
          if (now?.uuid === document.uuid && now.unsynced !== undefined)
            changes.put('containers', name, withoutMark(now));
        }
      });
  }
}
