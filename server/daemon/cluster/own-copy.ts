// Opens this host's copy of the cluster's records without the other members: turns its etcd into a single one, which needs no majority.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeEtcdCertificates } from '../../membership/etcd/certificates.ts';
import type { EtcdStart } from '../../membership/etcd/etcd-flags.ts';
import { EtcdProcess } from '../../membership/etcd/etcd-process.ts';
import { freeAddress } from '../../membership/etcd/free-address.ts';
import { dataDir, exchangedDir, finishExchange, makeOnlyVoter, replay } from '../../membership/etcd/learner.ts';
import { clusterDir, type ClusterStore } from '../../membership/membership.ts';
import { silentLog } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import { etcdNotePath, etcdStartOf, readEtcdNote, storeName } from '../stores/etcd-note.ts';
import { etcdSettings } from '../stores/store-choice.ts';
import { keysOf } from '../stores/keys-of.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

interface OwnCopy {
  readonly stateDir: string;
  readonly etcdPath?: string;
}

export const hasOwnCopy = (stateDir: string): boolean =>
  existsSync(etcdNotePath(stateDir)) &&
  [dataDir, exchangedDir].some((name) => existsSync(join(clusterDir(stateDir), 'etcd', name)));

/** Works on a temporary copy: nothing on the host changes. */
export async function ownCopyOf<T>(copy: OwnCopy, read: (store: Store) => Promise<T>): Promise<T> {
  const { stateDir } = copy;
  const noted = await noteOf(stateDir);
  const dir = await mkdtemp(join(clusterDir(stateDir), 'look-'));
  try {
    const start = etcdStartOf(stateDir, noted);
    await finishExchange(start.dir);
    await cp(join(start.dir, 'data'), join(dir, 'etcd', 'data'), { recursive: true });
    const { issuers } = await keysOf(stateDir);
    const [clientAddress, peerAddress] = [await freeAddress(), await freeAddress()];
    const tls = await writeEtcdCertificates(join(dir, 'tls'), issuers, { name: noted.name, hosts: ['127.0.0.1'] });
    return await runAlone({ ...start, dir: join(dir, 'etcd'), clientAddress, peerAddress, tls }, copy, read);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Makes the etcd of this host a single one, for good. Its former data stay beside it. */
export async function recoverCopy<T>(
  copy: OwnCopy,
  former: ClusterStore,
  work: (store: Store) => Promise<T>,
): Promise<{ readonly store: ClusterStore; readonly result: T }> {
  const { stateDir } = copy;
  const start = etcdStartOf(stateDir, await noteOf(stateDir));
  await finishExchange(start.dir);
  const before = join(clusterDir(stateDir), 'etcd.before-recovery');
  await rm(before, { recursive: true, force: true });
  await cp(start.dir, before, { recursive: true });
  const result = await runAlone(start, copy, work);
  return { store: { ...former, address: `etcd://${start.clientAddress}/${storeName}` }, result };
}

async function runAlone<T>(start: EtcdStart, copy: OwnCopy, work: (store: Store) => Promise<T>): Promise<T> {
  const { etcdPath } = copy;
  const { isLearner } = await replay(start, copy);
  if (isLearner) await makeOnlyVoter(start, copy);
  const etcd = new EtcdProcess({ log: silentLog, ...withoutUndefined({ etcdPath }) });
  await etcd.start({ ...start, isAlone: !isLearner });
  try {
    const { openEtcdStore } = await import('../../store/etcd/etcd.ts');
    const { SealedStore } = await import('../../store/sealed.ts');
    const { ca, cert, key } = start.tls;
    const settings = await etcdSettings({ address: `etcd://${start.clientAddress}/${storeName}`, ca, cert, key });
    const store = new SealedStore(await openEtcdStore(settings), await keysOf(copy.stateDir));
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  } finally {
    await etcd.stop();
  }
}

async function noteOf(stateDir: string) {
  const noted = await readEtcdNote(stateDir);
  if (noted === undefined) throw new Error(`there is no ${etcdNotePath(stateDir)}`);
  return noted;
}
