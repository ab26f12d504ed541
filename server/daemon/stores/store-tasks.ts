// The work of gantryd store: each task ends with the old store or the new one, never a mixture, even when killed.
import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { moveDurably, syncDirectory } from '../../lib/durable-files.ts';
import type { EtcdBackend } from '../../store/etcd/etcd.ts';
import { checkDump, contentsOf, load, readAll, readDump } from '../../store/load.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite.ts';
import { type Store, StoreError } from '../../store/store.ts';
import { daemonPid, untilEnded } from '../daemon-process.ts';
import { absolute, holderOf, sqlitePath } from './open-store.ts';
import { type EtcdChoice, etcdSettings } from './store-choice.ts';
import { keysOf } from './keys-of.ts';
import { readNote, writeNote } from './store-note.ts';
import { readMembership } from '../../membership/membership.ts';

export interface StoreTask {
  readonly stateDir: string;
  readonly databaseDir: string;
  /** Undefined: the state directory's store. */
  readonly etcd: EtcdChoice | undefined;
  readonly say: (text: string) => void;
}

const longestStopMs = 120_000;
/** A service manager may start the daemon during this: that one waits, too, and fails. */
const lockTimeoutMs = 10_000;

/** Until the note is written the file is the store of this host; a run after a crash starts over. */
export async function migrate(task: StoreTask): Promise<string> {
  const { databaseDir, etcd, stateDir } = task;
  if (etcd === undefined) throw new Error('--to is required');
  await refuseMember(stateDir, 'the cluster keeps them');
  const note = await readNote(databaseDir);
  if (note !== undefined) throw new Error(`the records of this host are in ${note.etcd.address} already`);
  if (!existsSync(sqlitePath(databaseDir))) throw new Error(`there are no records in ${databaseDir}`);
  await endDaemon(task);
  const source = await openSqliteStore({ path: sqlitePath(databaseDir), lockTimeoutMs });
  try {
    const target = await openTarget(etcd, stateDir);
    try {
      const wanted = await contentsOf(source);
      await fill(target, source, wanted, etcd);
      const { rev, storeUuid } = await target.status();
      await writeNote(databaseDir, { etcd: absolute(etcd), storeUuid, epoch: target.epoch, rev });
      return `${wanted.records} records are in ${etcd.address} now. Start gantryd again: it uses that store from now on`;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function fill(
  target: EtcdBackend,
  source: Store,
  wanted: { readonly records: number; readonly sha256: string },
  etcd: EtcdChoice,
): Promise<void> {
  try {
    await target.beginImport(false);
  } catch (error) {
    // A run was cut off before its last step.
    const isSame = (await contentsOf(target)).sha256 === wanted.sha256;
    if (error instanceof StoreError && error.code === 'Invalid' && isSame) return;
    throw error;
  }
  await load(target, readAll(source));
  const found = await contentsOf(target);
  if (found.sha256 !== wanted.sha256)
    throw new Error(`${etcd.address} has other records than were written: nothing was changed on this host`);
  await target.finishImport();
}

export async function backUp(task: StoreTask, path: string): Promise<string> {
  const store = await openSource(task);
  const draft = `${path}.partial`;
  try {
    await rm(draft, { force: true });
    // Only the owner can read it: records hold secrets.
    const file = await open(draft, 'wx', 0o600);
    const sink = file.createWriteStream();
    const ended = finished(sink);
    ended.catch(() => {});
    const { rev } = await store.snapshot(sink);
    sink.end();
    await ended;
    await moveDurably(draft, path);
    const { records } = await checkDump(path);
    return `${records} records of revision ${rev} are in ${path}`;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await store.close();
  }
}

export async function restore(task: StoreTask, path: string, replace: boolean): Promise<string> {
  const { records } = await checkDump(path);
  const { databaseDir, etcd, stateDir } = task;
  await refuseMember(stateDir, 'a backup would change those of all members');
  const note = await readNote(databaseDir);
  const choice = etcd ?? note?.etcd;
  if (choice === undefined) {
    await restoreFile(databaseDir, path, replace);
    return `${records} records of ${path} are in ${sqlitePath(databaseDir)}`;
  }
  const target = await openTarget(choice, stateDir);
  try {
    await target.beginImport(replace).catch((error: unknown) => {
      throw withReplace(error);
    });
    await load(target, readDump(path));
    const { storeUuid, epoch } = await target.finishImport();
    const { rev } = await target.status();
    await writeNote(databaseDir, { etcd: absolute(choice), storeUuid, epoch, rev });
    return `${records} records of ${path} are in ${choice.address}`;
  } finally {
    await target.close();
  }
}

/** Replaces the old file with the new one in one step; the old one stays beside it. */
async function restoreFile(databaseDir: string, path: string, replace: boolean): Promise<void> {
  const current = sqlitePath(databaseDir);
  const draft = join(databaseDir, 'state.db.restoring');
  // Held open, so that no daemon can start on it.
  const old = existsSync(current) ? await openSqliteStore({ path: current }) : undefined;
  try {
    const { records } = (await old?.status()) ?? { records: 0 };
    if (records > 0 && !replace)
      throw withReplace(new StoreError('Invalid', `${current} is not empty: it has ${records} records`));
    await removeDatabase(draft);
    const store = await openSqliteStore({ path: draft });
    try {
      await load(store, readDump(path));
    } finally {
      await store.close();
    }
  } catch (error) {
    await old?.close();
    await removeDatabase(draft);
    throw error;
  }
  await old?.close();
  if (existsSync(`${current}-wal`)) throw new Error(`${current} was not closed cleanly: its log is still there`);
  if (old !== undefined) await keepOld(current);
  await rename(draft, current);
  await syncDirectory(dirname(current));
}

/** A second name for the old file, so that a file exists at every moment. */
async function keepOld(current: string): Promise<void> {
  const { link } = await import('node:fs/promises');
  await rm(`${current}.before-restore`, { force: true });
  await link(current, `${current}.before-restore`);
}

async function removeDatabase(path: string): Promise<void> {
  for (const end of ['', '-wal', '-shm', '-journal']) await rm(`${path}${end}`, { force: true });
}

/** For reading: a store in etcd can be read beside its daemon, a file only without one. */
async function openSource({ stateDir, databaseDir, etcd }: StoreTask): Promise<Store> {
  const choice = etcd ?? (await readMembership(stateDir))?.store ?? (await readNote(databaseDir))?.etcd;
  if (choice !== undefined) {
    const { openEtcdStore } = await import('../../store/etcd/etcd.ts');
    const { SealedStore } = await import('../../store/sealed.ts');
    return new SealedStore(await openEtcdStore(await etcdSettings(choice)), await keysOf(stateDir));
  }
  if (!existsSync(sqlitePath(databaseDir))) throw new Error(`there are no records in ${databaseDir}`);
  return await openSqliteStore({ path: sqlitePath(databaseDir) });
}

/** A member's own file is from before it joined, and the others write to the cluster's store. */
async function refuseMember(stateDir: string, why: string): Promise<void> {
  if ((await readMembership(stateDir)) === undefined) return;
  throw new Error(`this host is a member of a cluster, whose records it shares: ${why}`);
}

async function openTarget(choice: EtcdChoice, stateDir: string): Promise<EtcdBackend> {
  const { openEtcdStore } = await import('../../store/etcd/etcd.ts');
  return await openEtcdStore({ ...(await etcdSettings(choice)), exclusive: holderOf(stateDir), forImport: true });
}

async function endDaemon({ stateDir, say }: StoreTask): Promise<void> {
  const pid = await daemonPid(join(stateDir, 'unix.socket')).catch(() => undefined);
  if (pid === undefined) return;
  say(`ending the daemon (process ${pid}); containers keep running`);
  process.kill(pid, 'SIGTERM');
  await untilEnded(
    pid,
    longestStopMs,
    () => new Error(`the daemon (process ${pid}) has not ended in ${longestStopMs / 1000} s`),
  );
}

const withReplace = (error: unknown): unknown =>
  error instanceof StoreError && error.code === 'Invalid'
    ? new Error(`${error.message}. --replace puts the backup in their place`, { cause: error })
    : error;
