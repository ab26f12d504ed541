// The work of gantryd cluster. Until the membership file is written, or deleted, the host is unchanged, and the command can be repeated.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  membershipPath,
  readMembership,
  removeMembership,
  type Membership,
  writeMembership,
} from '../../membership/membership.ts';
import { decodeDocument, encodeDocument } from '../../records/codec.ts';
import type { Store } from '../../store/store.ts';
import { lockState, type StateLock, stateInUse } from '../stores/state-lock.ts';
import { keysOf } from '../stores/keys-of.ts';
import { etcdSettings } from '../stores/store-choice.ts';
import { hasOwnCopy, ownCopyOf, recoverCopy } from './own-copy.ts';

/** The wait before the copy on this host is read. */
const lookMs = 4_000;

export interface ClusterTask {
  readonly stateDir: string;
  /** The program; absent: the one in PATH. */
  readonly etcdPath?: string;
}

export async function showMember({ stateDir }: ClusterTask): Promise<string> {
  const { number, clusterUuid, store } = await membershipOf(stateDir);
  const copy = hasOwnCopy(stateDir) ? 'yes' : 'no';
  return [
    `number: ${number}`,
    `cluster: ${clusterUuid}`,
    `records: ${store.address}${store.own === true ? ' (run by the members)' : ''}`,
    `copy on this host: ${copy}`,
  ].join('\n');
}

export async function listMembers(task: ClusterTask): Promise<string> {
  const membership = await membershipOf(task.stateDir);
  const away = await readFrom(task.stateDir, membership, membersIn).catch((error: unknown) => error as Error);
  if (typeof away === 'string') return away;
  if (membership.store.own !== true || !hasOwnCopy(task.stateDir)) throw away;
  const list = await withStateLock(task.stateDir, () => ownCopyOf(task, membersIn));
  return `${list}\n(as the copy on this host has it, which may be behind: ${away.message})`;
}

/** Call with the host's daemon stopped; the cluster, if it still exists, removes the member by force. */
export async function leaveAlone({ stateDir }: ClusterTask): Promise<string> {
  await membershipOf(stateDir);
  await withStateLock(stateDir, async () => {
    await removeMembership(stateDir);
  });
  return 'This host is in no cluster any more. Its next start has the records from before it joined; where it is still listed as a member, remove it there with --force';
}

export async function recover(task: ClusterTask): Promise<string> {
  const { stateDir } = task;
  const membership = await membershipOf(stateDir);
  if (membership.store.own !== true)
    throw new Error(
      `the records are in the etcd ${membership.store.address}, which the members do not run: recover that as its manual says`,
    );
  if (!hasOwnCopy(stateDir))
    throw new Error(
      'this host has no copy of the records: recover on a member that runs, or ran, an etcd of the cluster',
    );
  return await withStateLock(stateDir, async () => {
    const clusterUuid = randomUUID();
    const { store, result } = await recoverCopy(task, membership.store, async (opened) => {
      await renameCluster(opened, clusterUuid);
      return await membersIn(opened);
    });
    await writeMembership(stateDir, { ...membership, clusterUuid, store });
    return [
      'This host alone keeps the records of the cluster now. Start gantryd. Members:',
      result,
      'Remove those that are lost with gantry cluster remove NAME --force. Their hosts may join again, after gantryd cluster leave',
    ].join('\n');
  });
}

/** Lost members must not join this cluster when they come back: it gets another uuid. */
async function renameCluster(store: Store, uuid: string): Promise<void> {
  const key = '/cluster/config';
  const record = await store.get(key);
  if (record === undefined) throw new Error('the copy on this host has no records of a cluster');
  const document = decodeDocument('cluster', 'config', record.value);
  const value = encodeDocument<'cluster'>({ ...document, uuid });
  const { ok } = await store.txn([{ key, modRev: record.modRev }], [{ put: key, value }]);
  if (!ok) throw new Error('the records are being changed by another program');
}

async function membersIn(store: Store): Promise<string> {
  const { records } = await store.range('/members/');
  const rows = records.map(({ key, value }) => {
    const name = key.slice('/members/'.length);
    const { number, address } = decodeDocument('members', name, value);
    return `${name}  member ${number}  ${address}`;
  });
  return rows.join('\n');
}

async function readFrom<T>(stateDir: string, membership: Membership, read: (store: Store) => Promise<T>): Promise<T> {
  const { openEtcdStore } = await import('../../store/etcd/etcd.ts');
  const { SealedStore } = await import('../../store/sealed.ts');
  const settings = { ...(await etcdSettings(membership.store)), attemptMs: 1_000, totalMs: lookMs };
  const store = new SealedStore(await openEtcdStore(settings), await keysOf(stateDir));
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

async function membershipOf(stateDir: string): Promise<Membership> {
  if (!existsSync(stateDir)) throw new Error(`there is no directory ${stateDir}`);
  const membership = await readMembership(stateDir);
  if (membership === undefined) throw new Error(`this host is in no cluster: there is no ${membershipPath(stateDir)}`);
  return membership;
}

/** Holds the lock of the directory during the work. */
async function withStateLock<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  const lock: StateLock | undefined = await lockState(stateDir);
  if (lock === undefined) throw stateInUse(stateDir);
  try {
    return await work();
  } finally {
    lock.release();
  }
}
