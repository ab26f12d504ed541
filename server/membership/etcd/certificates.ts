// The certificates by which members' etcds authenticate each other, issued by the authority that all members share.
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
const organization = 'gantry';

export interface EtcdIssuer {
  /** 0: an authority for a single etcd. */
  readonly generation: number;
  readonly keyPem: string;
}

export interface EtcdIssuers {
  readonly trusted: readonly EtcdIssuer[];
  /** The authority that signed the certificate in use. */
  readonly shown: EtcdIssuer;
}

export const onlyIssuer = (keyPem: string): EtcdIssuers => {
  const shown = { generation: 0, keyPem };
  return { trusted: [shown], shown };
};

/** TLS finds an authority by its subject name, so each generation has another one. */
const issuerOf = ({ generation, keyPem }: EtcdIssuer): Issuer => ({
  commonName: generation === 0 ? 'etcd of the cluster' : `etcd of the cluster, keys ${generation}`,
  organization,
  privateKey: createPrivateKey(keyPem),
});

/** etcd trusts a self-signed certificate only if it is valid for both ends, and compares its names with each member's address. So the
 *  cluster has an authority, and each member a certificate for its own addresses. */
export async function makeEtcdCertificates(
  { trusted, shown }: EtcdIssuers,
  member: { readonly name: string; readonly hosts: readonly string[] },
  now: Date,
): Promise<EtcdCertificates> {
  const notBefore = new Date(now.getTime() - earlierMs);
  const notAfter = new Date(now.getTime() + validMs);
  const { certPem, keyPem } = await makeSigned(
    {
      commonName: member.name,
      organization,
      subjectAltNames: [...member.hosts, 'localhost', '127.0.0.1', '::1'],
      notBefore,
      notAfter,
      usage: 'peer',
      curve: 'P-256',
    },
    issuerOf(shown),
  );
  const caPem = trusted.map((each) => makeAuthority(issuerOf(each), { notBefore, notAfter })).join('');
  return { caPem, certPem, keyPem };
}

/** Issues them again after the address or the authority changed. Only the owner can read the directory. */
export async function writeEtcdCertificates(
  dir: string,
  issuers: EtcdIssuers,
  member: { readonly name: string; readonly hosts: readonly string[] },
): Promise<EtcdTlsFiles> {
  const { caPem, certPem, keyPem } = await makeEtcdCertificates(issuers, member, new Date());
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const files = { ca: join(dir, 'ca.crt'), cert: join(dir, 'member.crt'), key: join(dir, 'member.key') };
  await writeDurably(files.ca, caPem, 0o600);
  await writeDurably(files.cert, certPem, 0o600);
  await writeDurably(files.key, keyPem, 0o600);
  return files;
}
