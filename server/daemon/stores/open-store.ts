// Opens the store of a daemon: the SQLite file of its state directory, or the etcd that its flags or its note name.
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { compareVersions } from '../../api/text/compare-versions.ts';
import type { Membership } from '../../membership/membership.ts';
import type { Log } from '../../lib/log.ts';
import type { Records } from '../../records/records.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite.ts';
import type { Compactor } from '../../store/etcd/compactor.ts';
import type { EtcdBackend } from '../../store/etcd/etcd.ts';
import type { MemberOptions } from '../../store/etcd/member.ts';
import type { SealedStore, Vault } from '../../store/sealed.ts';
import { pause } from '../../lib/shared/deadline.ts';
import { type Store, StoreError, type StoreErrorCode } from '../../store/store.ts';
import { hasProcessEnded, processIdentity } from '../process-identity.ts';
import { type EtcdChoice, etcdSettings } from './store-choice.ts';
import { olderThanNoted, readNote, writeNote } from './store-note.ts';

export interface OpenStoreOptions {
  readonly stateDir: string;
  readonly databaseDir: string;
  /** Undefined: the store that the state directory last used. */
  readonly etcd: EtcdChoice | undefined;
  readonly log: Log;
  /** Set on a member of a cluster: its records are in the cluster's store. */
  readonly membership: Membership | undefined;
  /** Such a host's keys of the cluster. */
  readonly keys: ClusterKeysAtStart;
  readonly release: string;
  /** Called while the store of a cluster is full, which grants no lease then. Never throws. */
  readonly makeRoom?: (() => Promise<void>) | undefined;
  /** Called if the store of a cluster does not answer at first; its result is called once it does. */
  readonly serveWhileWaiting?: ((number: number) => Promise<() => Promise<void>>) | undefined;
  /** Ends the wait for the store of a cluster. */
  readonly stopStart?: AbortSignal | undefined;
}

export interface OpenedStore {
  readonly store: Store;
  readonly fenceOut?: (writer: string) => Promise<void>;
  readonly useEndpoints?: (endpoints: readonly string[]) => void;
  readonly useTls?: (tls: MemberOptions['tls']) => void;
  /** Encrypts again what an older key encrypted. */
  readonly renew?: (signal: AbortSignal) => Promise<number>;
  /** A warning for the operator. */
  readonly problem?: () => string | undefined;
  /** Keeps the records current; does nothing for a store that only this process can write. */
  readonly follow: (records: Records) => void;
  close(): Promise<void>;
}

/** The file has no watchers, and replaced values may be secret. */
export const noHistory = { minRevisions: 1, maxAgeMs: 0, maxRevisions: 1 };

export const sqlitePath = (databaseDir: string): string => join(databaseDir, 'state.db');

export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { databaseDir, etcd, membership } = options;
  if (membership !== undefined) return await openClusterStore(membership, options);
  const note = await readNote(databaseDir);
  if (etcd !== undefined || note !== undefined) return await openEtcd(options, etcd ?? note?.etcd);
  const store = await openSqliteStore({ path: sqlitePath(databaseDir), history: noHistory });
  return { store, follow: () => {}, close: () => store.close() };
}

async function openEtcd(options: OpenStoreOptions, choice: EtcdChoice | undefined): Promise<OpenedStore> {
  const { databaseDir, log } = options;
  if (choice === undefined) throw new Error('no etcd was chosen');
  const note = await readNote(databaseDir);
  if (note === undefined && existsSync(sqlitePath(databaseDir))) {
    throw new Error(
      `${sqlitePath(databaseDir)} holds the records of this host: move them with gantryd store migrate --to ${choice.address}`,
    );
  }
  const [{ openEtcdStore }, { Compactor }] = await Promise.all([
    import('../../store/etcd/etcd.ts'),
    import('../../store/etcd/compactor.ts'),
  ]);
  const store = await openEtcdStore({
    ...(await etcdSettings(choice)),
    exclusive: { ...holderOf(options.stateDir), onTakenOver: (error) => log.error(error.message) },
  });
  try {
    const { storeUuid, rev } = await store.status();
    const found = { storeUuid, rev, epoch: store.epoch };
    const why = note && olderThanNoted(note, found);
    if (why !== undefined) {
      throw new Error(
        `the store ${choice.address} is not the newest one: ${why}. Restore a backup with gantryd store restore, or remove ${join(databaseDir, 'store.json')} to take it as it is`,
      );
    }
    await writeNote(databaseDir, { etcd: absolute(choice), ...found });
  } catch (error) {
    await store.close();
    throw error;
  }
  return followedStore(store, new Compactor({ store, log }), log);
}

/** Follows the store while others write to it, too. */
export function followedStore(
  store: EtcdBackend & Partial<Pick<SealedStore, 'renew'>>,
  compactor: Pick<Compactor, 'stop' | 'problem'>,
  log: Log,
): OpenedStore {
  const following = new AbortController();
  let followed: Promise<void> = Promise.resolve();
  return {
    store,
    fenceOut: (writer) => store.fenceOut(writer),
    useEndpoints: (endpoints) => store.useEndpoints(endpoints),
    useTls: (tls) => store.useTls(tls),
    renew: async (signal) => (await store.renew?.(signal)) ?? 0,
    problem: () => compactor.problem,
    follow: (records) => {
      followed = records.follow(following.signal, (error) =>
        log.error('Following the store failed', { error: String(error) }),
      );
    },
    close: async () => {
      following.abort();
      await Promise.all([compactor.stop(), followed]);
      await store.close();
    },
  };
}

/** Each member has a writer id, by which the others can shut it out. */
export const writerOf = (member: number): string => `member-${member}`;

/** The store that all members of the cluster write to. */
export async function openClusterStore(
  { store: choice, number, clusterUuid }: Membership,
  {
    log,
    release,
    stopStart,
    keys,
    makeRoom,
    serveWhileWaiting,
  }: Pick<OpenStoreOptions, 'log' | 'release' | 'stopStart' | 'keys' | 'makeRoom' | 'serveWhileWaiting'>,
): Promise<OpenedStore> {
  const [{ openEtcdStore }, { SealedStore: Sealed }, { Compactor }] = await Promise.all([
    import('../../store/etcd/etcd.ts'),
    import('../../store/sealed.ts'),
    import('../../store/etcd/compactor.ts'),
  ]);
  let why = `${choice.address} does not answer`;
  const open = async (): Promise<EtcdBackend> =>
    await openEtcdStore({ ...(await etcdSettings(choice)), writer: writerOf(number) }).catch(async (error: unknown) => {
      if (isStoreError(error, 'NoSpace')) {
        why = error.message;
        await makeRoom?.();
      }
      // Its authority may have been dropped while this member was away.
      await keys.catchUp();
      throw error;
    });
  let serving: Promise<() => Promise<void>> | undefined;
  const onWait = (): void => {
    log.warn(`Waiting for the store of the cluster: ${why}`);
    serving = serveWhileWaiting?.(number);
  };
  let opened: EtcdBackend;
  try {
    opened = await untilAvailable(open, { stop: stopStart, onWait });
  } finally {
    const end = await serving;
    await end?.();
  }
  const store = new Sealed(opened, keys.vault);
  try {
    await checkCluster(store, { clusterUuid, address: choice.address, release });
  } catch (error) {
    await store.close();
    throw error;
  }
  return followedStore(store, new Compactor({ store, log }), log);
}

export interface ClusterKeysAtStart {
  readonly vault: Vault;
  /** Asks the other members for newer keys. Never throws. */
  readonly catchUp: () => Promise<void>;
}

/** After a power cut all members start at once, and each one's etcd waits for the others. `onWait`: called once if that takes a while. */
async function untilAvailable<T extends Pick<Store, 'close'>>(
  open: () => Promise<T>,
  { stop, onWait }: { readonly stop: AbortSignal | undefined; readonly onWait: () => void },
): Promise<T> {
  const end = performance.now() + longestWaitMs;
  const waiting = setTimeout(onWait, noticedMs);
  try {
    for (;;) {
      try {
        return await unlessStopped(open(), stop);
      } catch (error) {
        if (!isStoreError(error, 'Unavailable', 'NoSpace') || performance.now() > end) throw error;
        await pause(1_000, stop);
      }
    }
  } finally {
    clearTimeout(waiting);
  }
}

const isStoreError = (error: unknown, ...codes: readonly StoreErrorCode[]): error is StoreError =>
  error instanceof StoreError && codes.includes(error.code);

/** Longer than an election takes. */
const noticedMs = 4_000;

/** Throws the signal's reason at once; a store that opens later is closed. */
async function unlessStopped<T extends Pick<Store, 'close'>>(
  opening: Promise<T>,
  stop: AbortSignal | undefined,
): Promise<T> {
  if (stop === undefined) return await opening;
  const stopped = new Promise<never>((_resolve, reject) => {
    const refuse = (): void => reject(stop.reason as Error);
    if (stop.aborted) refuse();
    else stop.addEventListener('abort', refuse, { once: true });
  });
  try {
    return await Promise.race([opening, stopped]);
  } catch (error) {
    if (stop.aborted)
      opening.then(
        (late) => late.close(),
        () => {},
      );
    throw error;
  }
}

const longestWaitMs = 10 * 60_000;

/** The store may have been replaced by that of another cluster. */
async function checkCluster(
  store: Store,
  {
    clusterUuid,
    address,
    release,
  }: { readonly clusterUuid: string; readonly address: string; readonly release: string },
): Promise<void> {
  const record = await store.get('/cluster/config');
  const found =
    record === undefined
      ? undefined
      : (JSON.parse(Buffer.from(record.value).toString()) as { uuid?: string; minVersion?: string });
  if (found?.uuid === clusterUuid) return checkRelease(release, found.minVersion);
  throw new Error(
    `the store ${address} is not that of the cluster which this host is a member of: ${found === undefined ? 'it has no cluster' : `it has the cluster ${found.uuid ?? '?'}`}`,
  );
}

/** Once all members run that release, they may write data that an older one cannot read. */
function checkRelease(release: string, needed = release): void {
  if (compareVersions(release, needed) >= 0) return;
  throw new Error(
    `this is the release ${release} of gantryd, and all members of the cluster have run ${needed} or a newer one: install ${needed} here, or remove this host from the cluster`,
  );
}

/** This daemon's identity for a store with a single writer. */
export function holderOf(stateDir: string): {
  readonly holder: string;
  readonly identity: string;
  readonly hasEnded: (identity: string) => boolean;
} {
  return {
    holder: `process ${process.pid} on ${hostname()} (${stateDir})`,
    identity: processIdentity(),
    hasEnded: hasProcessEnded,
  };
}

/** The daemon may be started from another directory next time. */
export function absolute(choice: EtcdChoice): EtcdChoice {
  const { address, ...files } = choice;
  return { address, ...Object.fromEntries(Object.entries(files).map(([flag, path]) => [flag, resolve(path)])) };
}
