// What a host knows of its own membership before it can read any record: the files of its state directory.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory, writeDurably } from '../lib/durable-files.ts';

/** Where the records of the cluster are; the names of files are those of the host. */
export interface ClusterStore {
  /** `etcd://HOST:PORT,…/NAME` */
  readonly address: string;
  /** The members run it themselves. */
  readonly own?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly login?: string;
}

export interface Membership {
  /** Of this host in its cluster: never given to another one. */
  readonly number: number;
  readonly clusterUuid: string;
  readonly store: ClusterStore;
}

export const membershipPath = (stateDir: string): string => join(stateDir, 'cluster', 'membership.json');
export const clusterDir = (stateDir: string): string => join(stateDir, 'cluster');
export const clusterCertificateFiles = (stateDir: string): { readonly cert: string; readonly key: string } => ({
  cert: join(stateDir, 'cluster.crt'),
  key: join(stateDir, 'cluster.key'),
});

/** Undefined: the host is in no cluster. Throws an Error that names the file when it is damaged. */
export async function readMembership(stateDir: string): Promise<Membership | undefined> {
  let text: string;
  try {
    text = await readFile(membershipPath(stateDir), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { v, number, clusterUuid, store } = JSON.parse(text) as Partial<Membership> & { readonly v?: number };
    if (v !== 1 || typeof number !== 'number' || typeof clusterUuid !== 'string' || typeof store?.address !== 'string')
      throw new Error('it is not the description of a membership');
    return { number, clusterUuid, store };
  } catch (cause) {
    throw new Error(`Reading ${membershipPath(stateDir)} failed`, { cause });
  }
}

/** From now on the host is this member, also after a crash. The directory exists. */
export async function writeMembership(stateDir: string, membership: Membership): Promise<void> {
  await writeDurably(membershipPath(stateDir), `${JSON.stringify({ v: 1, ...membership })}\n`, 0o600);
}

/** From now on the host is in no cluster, also after a crash. */
export async function removeMembership(stateDir: string): Promise<void> {
  await rm(membershipPath(stateDir), { force: true });
  await syncDirectory(clusterDir(stateDir));
  const { cert, key } = clusterCertificateFiles(stateDir);
  await rm(cert, { force: true });
  await rm(key, { force: true });
}
