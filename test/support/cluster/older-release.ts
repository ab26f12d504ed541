// Makes a stopped cluster what a release before its keys left behind: plain values, and members without certificates of their own.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { onlyIssuer, writeEtcdCertificates } from '../../../server/membership/etcd/certificates.ts';
import { EtcdProcess } from '../../../server/membership/etcd/etcd-process.ts';
import { keyFilePath } from '../../../server/membership/keys/key-file.ts';
import { isPlainKey } from '../../../server/membership/keys/vault.ts';
import {
  type ClusterStore,
  clusterDir,
  memberPairFiles,
  readEtcdAuthority,
  readMembership,
} from '../../../server/membership/membership.ts';
import { etcdStartOf, readEtcdNote } from '../../../server/daemon/stores/etcd-note.ts';
import { hostOf, nameOf } from '../../../server/daemon/stores/etcd-place.ts';
import { keysOf } from '../../../server/daemon/stores/keys-of.ts';
import { etcdSettings } from '../../../server/daemon/stores/store-choice.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import { SealedStore } from '../../../server/store/sealed.ts';

type Host = { readonly dir: string };
const atOnce = 50;

/** All daemons are stopped before, and can be started after it. */
export async function asOlderRelease(hosts: readonly Host[]): Promise<void> {
  const [first] = hosts;
  if (first === undefined) throw new Error('a cluster has members');
  const store = await storeOf(first);
  await whileEtcdsRun(hosts, store, () => writePlain(first, store));
  for (const { dir } of hosts) {
    const { cert, key } = memberPairFiles(dir);
    for (const path of [keyFilePath(dir), cert, key]) await rm(path, { force: true });
    if (store.own === true) await signAsBefore(dir);
  }
}

async function storeOf({ dir }: Host): Promise<ClusterStore> {
  const membership = await readMembership(dir);
  if (membership === undefined) throw new Error(`${dir} is that of no member`);
  return membership.store;
}

async function whileEtcdsRun(hosts: readonly Host[], store: ClusterStore, work: () => Promise<void>): Promise<void> {
  if (store.own !== true) return await work();
  const etcds = hosts.map(({ dir }) => ({ dir, etcd: new EtcdProcess({ log: silentLog }) }));
  try {
    await Promise.all(
      etcds.map(async ({ dir, etcd }) => {
        const noted = await readEtcdNote(dir);
        if (noted !== undefined) await etcd.start(etcdStartOf(dir, noted));
      }),
    );
    await work();
  } finally {
    await Promise.all(etcds.map(({ etcd }) => etcd.stop()));
  }
}

async function writePlain({ dir }: Host, store: ClusterStore): Promise<void> {
  const etcd = await openEtcdStore(await etcdSettings(store));
  try {
    const { records } = await new SealedStore(etcd, await keysOf(dir)).range('/');
    const changes = records
      .filter(({ key }) => !isPlainKey(key))
      .map(({ key, value }) => ({ put: key, value: key.startsWith('/members/') ? withoutCertificate(value) : value }));
    for (let from = 0; from < changes.length; from += atOnce) await etcd.txn([], changes.slice(from, from + atOnce));
    await etcd.txn([], [{ del: '/clusterKeys/current' }]);
  } finally {
    await etcd.close();
  }
}

function withoutCertificate(value: Uint8Array): Uint8Array {
  const { certificate: _its, ...document } = JSON.parse(Buffer.from(value).toString()) as { certificate?: string };
  return Buffer.from(JSON.stringify(document));
}

async function signAsBefore(dir: string): Promise<void> {
  const { address = '' } = (await readMembership(dir)) ?? {};
  const member = { name: nameOf(address), hosts: [hostOf(address)] };
  await writeEtcdCertificates(join(clusterDir(dir), 'tls'), onlyIssuer(await readEtcdAuthority(dir)), member);
}
