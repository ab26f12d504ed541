// A host's membership before it can read any record: the files of its state directory.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory, writeDurably } from '../lib/durable-files.ts';
import { readIfThere } from '../lib/shared/missing-files.ts';

/** Where the records of the cluster are; file names are paths on this host. */
export interface ClusterStore {
  /** `etcd://HOST:PORT,…/NAME` */
  readonly address: string;
  /** The members run the etcd themselves. */
  readonly own?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly login?: string;
}

export interface Membership {
  /** The number of this host in its cluster: never reused. */
  readonly number: number;
  readonly clusterUuid: string;
  /** HOST:PORT where the others reach this host. */
  readonly address?: string;
  readonly store: ClusterStore;
}

export const membershipPath = (stateDir: string): string => join(stateDir, 'cluster', 'membership.json');
export const clusterDir = (stateDir: string): string => join(stateDir, 'cluster');
export const clusterCertificateFiles = (stateDir: string): { readonly cert: string; readonly key: string } => ({
  cert: join(stateDir, 'cluster.crt'),
  key: join(stateDir, 'cluster.key'),
});

/** The certificate that identifies this member to its peers. */
export const memberPairFiles = (stateDir: string): { readonly cert: string; readonly key: string } => ({
  cert: join(clusterDir(stateDir), 'member.crt'),
  key: join(clusterDir(stateDir), 'member.key'),
});

/** Writes the cluster's current certificate into the files; false if they have it. A crash leaves a key and a certificate that do not
 *  match, which the next start repairs from the record. */
export async function keepClusterPair(
  stateDir: string,
  { certPem, keyPem }: { readonly certPem: string; readonly keyPem: string },
): Promise<boolean> {
  const files = clusterCertificateFiles(stateDir);
  const [cert, key] = [await readIfThere(files.cert), await readIfThere(files.key)];
  if (cert === certPem && key === keyPem) return false;
  await writeDurably(files.key, keyPem, 0o600);
  await writeDurably(files.cert, certPem, 0o644);
  return true;
}

/** The member's copy of the records, for a start without a majority. */
export const keptRecordsPath = (stateDir: string): string => join(clusterDir(stateDir), 'kept-records.json');

/** Undefined outside a cluster. Throws an Error that names the file if it is damaged. */
export async function readMembership(stateDir: string): Promise<Membership | undefined> {
  const text = await readIfThere(membershipPath(stateDir));
  if (text === undefined) return undefined;
  try {
    const { v, number, clusterUuid, address, store } = JSON.parse(text) as Partial<Membership> & {
      readonly v?: number;
    };
    if (v !== 1 || typeof number !== 'number' || typeof clusterUuid !== 'string' || typeof store?.address !== 'string')
      throw new Error('it is not the description of a membership');
    return { number, clusterUuid, ...(typeof address === 'string' ? { address } : {}), store };
  } catch (cause) {
    throw new Error(`Reading ${membershipPath(stateDir)} failed`, { cause });
  }
}

/** Makes the host this member, durably. The directory exists. */
export async function writeMembership(stateDir: string, membership: Membership): Promise<void> {
  await writeDurably(membershipPath(stateDir), `${JSON.stringify({ v: 1, ...membership })}\n`, 0o600);
}

export async function removeMembership(stateDir: string): Promise<void> {
  await rm(membershipPath(stateDir), { force: true });
  await rm(keptRecordsPath(stateDir), { force: true });
  await syncDirectory(clusterDir(stateDir));
  const { cert, key } = clusterCertificateFiles(stateDir);
  const own = memberPairFiles(stateDir);
  for (const path of [cert, key, own.cert, own.key]) await rm(path, { force: true });
}
