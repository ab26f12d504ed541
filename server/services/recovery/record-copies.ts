// Keeps copies of records in their pools: written behind each change, compared with the records at the start.
import type { VolumeRef } from '../../drivers/storage/driver.ts';
import type { ServiceParts } from '../shared/service-parts.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { ownedKey, ownedName, volumeIdOf } from '../../records/record-names.ts';
import { KnownProblems } from '../shared/known-problems.ts';
import { ownedBy } from '../shared/owned-records.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import { poolLock, type Pools } from '../storage/pools.ts';
import { copyText, removeCopy, strayCopies, writeCopy } from './copy-files.ts';
import {
  copiedKinds,
  copyOf,
  placeOf,
  poolsWithCopies,
  type CopiedKind,
  type CopiedRecord,
  type RecordName,
} from './copied-records.ts';
import type { KnownPools } from './known-pools.ts';
import { mapAtMost } from '../../lib/shared/concurrency-limit.ts';

export interface RecordCopiesDeps extends Pick<ServiceParts, 'records' | 'locks' | 'log'> {
  readonly pools: Pick<Pools, 'use'>;
  readonly knownPools: KnownPools;
  readonly longestTurnMs?: number;
}

/** Changes close together cost one file, and a burst of creations does not wait for files that only a lost database needs. */
const delayMs = 1_000;
const atOnce = 2;
/** How long the other pools, and the end of the daemon, wait for one pool. */
const longestTurnMs = 10_000;

/** A copied snapshot has changed itself and with its volume: written twice at once, its file would be lost between the two. */
const once = (names: readonly RecordName[]): readonly RecordName[] => [
  ...new Map(names.map((record) => [`${record.kind}/${record.name}`, record])).values(),
];

export class RecordCopies {
  readonly #deps: RecordCopiesDeps;
  readonly #problems: KnownProblems;
  readonly #seen = new Map<CopiedKind, number>();
  readonly #poolOf = new Map<string, string>();
  /** Pools whose copies match the records, except for later changes. */
  readonly #current = new Set<string>();
  /** Pools that failed: retried each minute. */
  readonly #failed = new Set<string>();
  /** Pools whose turn lasts long, and how many records were done at the last look: a dead file system may never answer. */
  readonly #slow = new Map<string, number>();
  /** How many records were compared or written in each pool. */
  readonly #done = new Map<string, number>();
  #hasBegun = false;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #stopListening: () => void = () => {};

  constructor(deps: RecordCopiesDeps) {
    this.#deps = deps;
    this.#problems = new KnownProblems(deps.log);
  }

  /** Call once the records are recovered: compares them with the copies. */
  begin(): void {
    this.#hasBegun = true;
    for (const kind of copiedKinds) this.#seen.set(kind, -1);
    const ends = [this.#deps.records.onWrite(() => this.#soon()), this.#deps.records.onShared(() => this.#soon())];
    this.#stopListening = () => ends.forEach((end) => end());
    this.#soon();
  }

  task(): ScheduledTask {
    return {
      name: 'Copying records into pools',
      run: async () => {
        for (const [pool, doneBefore] of this.#slow) {
          const done = this.#doneIn(pool);
          this.#slow.set(pool, done);
          if (done > doneBefore) this.#problems.forget(pool);
          else
            this.#problems.note(
              pool,
              `The storage pool ${pool} does not answer: records are not copied there until it does`,
            );
        }
        const again = [...this.#failed].filter((pool) => !this.#slow.has(pool));
        for (const pool of again) this.#failed.delete(pool);
        if (again.length > 0) await this.flush();
      },
    };
  }

  /** Resolves when every acknowledged record has its copy. */
  async close(): Promise<void> {
    this.#stopListening();
    if (this.#hasBegun) await this.flush();
  }

  /** Resolves when the copies match the records. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  #soon(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.flush(), delayMs);
    this.#timer.unref();
  }

  async #write(): Promise<void> {
    const changed = once(copiedKinds.flatMap((kind) => this.#changed(kind)));
    const pools = poolsWithCopies(this.#deps.records);
    for (const pool of this.#current) if (!pools.includes(pool)) this.#current.delete(pool);
    const names = changed.flatMap(({ kind, name }) => (kind === 'pools' ? [name] : []));
    if (names.length > 0) await this.#deps.knownPools.note(names);
    for (const pool of pools) {
      // The comparison after its turn finds what has changed meanwhile.
      if (this.#slow.has(pool)) this.#failed.add(pool);
      if (this.#failed.has(pool)) continue;
      await this.#turn(pool, (directory) =>
        this.#current.has(pool) ? this.#update(pool, directory, changed) : this.#compare(pool, directory),
      );
    }
  }

  /** Resolves when the pool's copies are written, or when that lasts too long for the others. */
  async #turn(pool: string, work: (directory: string) => Promise<void>): Promise<void> {
    const doneBefore = this.#doneIn(pool);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#slow.set(pool, doneBefore);
        resolve();
      }, this.#deps.longestTurnMs ?? longestTurnMs);
      void this.#inPool(pool, work).finally(() => {
        clearTimeout(timer);
        this.#slow.delete(pool);
        resolve();
      });
    });
  }

  /** Records changed since the last call, and those of a container or volume that is in another pool now. */
  #changed(kind: CopiedKind): readonly RecordName[] {
    const { records } = this.#deps;
    const collection = records[kind];
    const since = this.#seen.get(kind) ?? -1;
    if (since === collection.generation) return [];
    this.#seen.set(kind, collection.generation);
    const names = since < 0 ? undefined : collection.changedSince(since);
    if (names === undefined) this.#current.clear();
    const changed = [...(names ?? collection.list().map(({ name }) => name))];
    return changed.flatMap((name) => [{ kind, name }, ...this.#movedWith({ kind, name })]);
  }

  #movedWith({ kind, name }: RecordName): readonly RecordName[] {
    if (kind !== 'containers' && kind !== 'volumes') return [];
    const { records } = this.#deps;
    const uuid = records[kind].get(name)?.document.uuid;
    const pool = placeOf(records, { kind, name });
    if (uuid === undefined || pool === undefined || this.#poolOf.get(uuid) === pool) return [];
    this.#poolOf.set(uuid, pool);
    const owned = kind === 'volumes' ? (['volumeSnapshots', 'backups'] as const) : (['snapshots', 'backups'] as const);
    return owned.flatMap((each) =>
      ownedBy(records, each, uuid).map((one) => ({ kind: each, name: ownedKey(uuid, one.name) })),
    );
  }

  async #inPool(name: string, work: (directory: string) => Promise<void>): Promise<void> {
    try {
      await this.#deps.locks.run(poolLock(name), async () => {
        if (!poolsWithCopies(this.#deps.records).includes(name)) return;
        const { driver, pool } = this.#deps.pools.use(name);
        await work(driver.recordsPath(pool));
        if (!this.#failed.has(name)) this.#current.add(name);
        else this.#current.delete(name);
      });
      this.#problems.forget(name);
    } catch (error) {
      this.#current.delete(name);
      this.#failed.add(name);
      if (this.#deps.records.pools.has(name))
        this.#problems.note(name, `The storage pool ${name} cannot take copies of the records: ${errorText(error)}`);
    }
  }

  async #update(pool: string, directory: string, changed: readonly RecordName[]): Promise<void> {
    const { records } = this.#deps;
    await this.#each(pool, changed, async (record) => {
      const place = placeOf(records, record);
      if (place !== 'every' && place !== pool) return removeCopy(directory, record);
      const text = copyOf(records, record);
      if (text !== undefined) await writeCopy(directory, record, text);
    });
  }

  /** Compares all: records may have changed while no daemon wrote copies. */
  async #compare(pool: string, directory: string): Promise<void> {
    const { records } = this.#deps;
    const wanted = copiedKinds.flatMap((kind) =>
      records[kind]
        .list()
        .map(({ name }): RecordName => ({ kind, name }))
        .filter((record) => [pool, 'every'].includes(placeOf(records, record) ?? '')),
    );
    await this.#each(pool, wanted, async (record) => {
      const text = copyOf(records, record);
      if (text !== undefined && text !== (await copyText(directory, record).catch(() => undefined)))
        await writeCopy(directory, record, text);
    });
    await this.#dropStrays(pool, directory, await strayCopies(directory, wanted));
  }

  /** Copies of unrecorded objects that are in the pool are for `recover`; while there are some, the copies that they need stay, too. */
  async #dropStrays(poolName: string, directory: string, strays: readonly CopiedRecord[]): Promise<void> {
    for (const record of strays) if (await this.#isInPool(poolName, record)) return;
    await this.#each(poolName, strays, (record) => removeCopy(directory, record));
  }

  async #each<R>(pool: string, records: readonly R[], work: (record: R) => Promise<void>): Promise<void> {
    await mapAtMost(atOnce, records, async (record) => {
      await work(record);
      this.#done.set(pool, this.#doneIn(pool) + 1);
    });
  }

  #doneIn(pool: string): number {
    return this.#done.get(pool) ?? 0;
  }

  /** Whether a container, volume or snapshot without a record has its files in the pool. */
  async #isInPool(poolName: string, { kind, name }: CopiedRecord): Promise<boolean> {
    const { driver, pool } = this.#deps.pools.use(poolName);
    if (kind === 'containers') return driver.hasVolume(pool, { type: 'container', name });
    if (kind === 'volumes') return driver.hasVolume(pool, { type: 'custom', name: volumeIdOf(name).name });
    if (kind !== 'snapshots' && kind !== 'volumeSnapshots') return false;
    const snapshot = ownedName(name);
    const owner = this.#ownerOf(kind, snapshot.uuid);
    return owner !== undefined && (await driver.listSnapshots(pool, owner)).includes(snapshot.name);
  }

  #ownerOf(kind: 'snapshots' | 'volumeSnapshots', uuid: string): VolumeRef | undefined {
    const { containers, volumes } = this.#deps.records;
    const found = (kind === 'snapshots' ? containers : volumes).list().find((each) => each.document.uuid === uuid);
    if (found === undefined) return undefined;
    return kind === 'snapshots'
      ? { type: 'container', name: found.name }
      : { type: 'custom', name: volumeIdOf(found.name).name };
  }
}
