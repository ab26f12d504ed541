// The certificates with which members' etcds know each other, made of a secret that all members share: the first key of the cluster.
import { createPrivateKey } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../lib/durable-files.ts';
import { type Issuer, makeAuthority, makeSigned } from '../../lib/self-signed.ts';

export interface EtcdCertificates {
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

export interface EtcdTlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const dayMs = 24 * 60 * 60_000;
/** Clocks of members may differ. */
const earlierMs = dayMs;
const validMs = 10 * 365 * dayMs;
const names = { commonName: 'etcd of the cluster', organization: 'gantry' };

/**
 * etcd takes a self-signed certificate as its own authority only when that may serve both ends, and compares its names with the address
 * of each member. So the first key of the cluster is the authority, and each member has a certificate for its own addresses.
 */
export async function makeEtcdCertificates(
  clusterKeyPem: string,
  member: { readonly name: string; readonly hosts: readonly string[] },
  now: Date,
): Promise<EtcdCertificates> {
  const issuer: Issuer = { ...names, privateKey: createPrivateKey(clusterKeyPem) };
  const notBefore = new Date(now.getTime() - earlierMs);
  const notAfter = new Date(now.getTime() + validMs);
  const { certPem, keyPem } = await makeSigned(
    {
      commonName: member.name,
      organization: names.organization,
      subjectAltNames: [...member.hosts, 'localhost', '127.0.0.1', '::1'],
      notBefore,
      notAfter,
      usage: 'peer',
      curve: 'P-256',
    },
    issuer,
  );
  return { caPem: makeAuthority(issuer, { notBefore, notAfter }), certPem, keyPem };
}

/** Makes them anew, for an address or a cluster key that has changed. The directory is for its owner only. */
export async function writeEtcdCertificates(
  dir: string,
  clusterKeyPem: string,
  member: { readonly name: string; readonly hosts: readonly string[] },
  now = new Date(),
): Promise<EtcdTlsFiles> {
  const { caPem, certPem, keyPem } = await makeEtcdCertificates(clusterKeyPem, member, now);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const files = { ca: join(dir, 'ca.crt'), cert: join(dir, 'member.crt'), key: join(dir, 'member.key') };
  await writeDurably(files.ca, caPem, 0o600);
  await writeDurably(files.cert, certPem, 0o600);
  await writeDurably(files.key, keyPem, 0o600);
  return files;
}
