// The certificate authority that restricts clients to its own: reads `server.ca` and `ca.crl` of the state directory, and checks them.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { hasCode } from '../lib/shared/error-code.ts';
import { reasonOf } from '../lib/shared/reason.ts';
import { readNames, readRevocationList, type RevocationList } from './revocation-list.ts';

export interface Pki {
  /** PEM of each authority. */
  readonly authorities: readonly string[];
  /** PEM of each revocation list. */
  readonly lists: readonly string[];
  /** One of the lists contains this certificate (DER). */
  readonly isRevoked: (certificate: Uint8Array) => boolean;
  /** One sentence per warning about usable files. */
  readonly warnings: readonly string[];
}

export const pkiFiles = { authorities: 'server.ca', lists: 'ca.crl' } as const;

/** A real PKI's files have some KB; a list of many revoked certificates some MB. */
const maxBytes = 64 * 1024 * 1024;

/** Undefined without `server.ca`. Throws an Error that names an unusable file and the reason. */
export async function readPki(dir: string, server: { readonly certPem: string }, now: Date): Promise<Pki | undefined> {
  const [caFile, crlFile] = [join(dir, pkiFiles.authorities), join(dir, pkiFiles.lists)];
  const caText = await readIfThere(caFile);
  const crlText = await readIfThere(crlFile);
  if (caText === undefined) {
    if (crlText === undefined) return undefined;
    throw new Error(
      `${crlFile} lists revoked certificates, but ${caFile}, the authority that revoked them, is missing`,
    );
  }
  const authorities = using(caFile, () => readAuthorities(caText, now));
  const lists = crlText === undefined ? undefined : using(crlFile, () => readLists(crlText));
  // Finds out now what TLS cannot read, instead of at the first connection.
  using(crlFile, () => createSecureContext({ crl: (lists ?? []).map(({ pem }) => pem) }));
  return {
    authorities: authorities.map(({ pem }) => pem),
    lists: (lists ?? []).map(({ pem }) => pem),
    isRevoked: (certificate) => isRevoked(lists ?? [], certificate),
    warnings: [
      ...serverWarnings(server.certPem, authorities, caFile),
      ...(lists === undefined ? [] : listWarnings(authorities, lists, crlFile, now)),
    ],
  };
}

interface Authority {
  readonly pem: string;
  readonly certificate: X509Certificate;
}

function readAuthorities(text: string, now: Date): readonly Authority[] {
  const blocks = blocksOf(text, 'CERTIFICATE');
  if (blocks.length === 0) throw new Error('it has no certificate in PEM form');
  const authorities = blocks.map((pem) => ({ pem, certificate: new X509Certificate(pem) }));
  for (const { certificate } of authorities) {
    const name = shownName(certificate);
    if (!certificate.ca) throw new Error(`${name} is not the certificate of an authority (basicConstraints CA)`);
    if (Date.parse(certificate.validTo) < now.getTime()) throw new Error(`${name} expired at ${certificate.validTo}`);
    if (authorities.some((other) => isSignedBy(certificate, other.certificate))) continue;
    const issuer = certificate.issuer.replaceAll('\n', ', ');
    throw new Error(`${name} is signed by ${issuer}, which is not in the file: add that certificate, up to the root`);
  }
  return authorities;
}

const isSignedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

function readLists(text: string): readonly (RevocationList & { readonly pem: string })[] {
  const blocks = blocksOf(text, 'X509 CRL');
  if (blocks.length === 0) throw new Error('it has no revocation list in PEM form (BEGIN X509 CRL)');
  return blocks.map((pem) => ({
    pem,
    ...readRevocationList(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')),
  }));
}

const blocksOf = (text: string, what: string): readonly string[] =>
  text.match(new RegExp(`-----BEGIN ${what}-----[A-Za-z0-9+/=\\s]+-----END ${what}-----`, 'g')) ?? [];

function isRevoked(lists: readonly RevocationList[], certificate: Uint8Array): boolean {
  if (lists.length === 0) return false;
  const { issuer, serial } = readNames(certificate);
  return lists.some((list) => list.issuer === issuer && list.serials.has(serial));
}

function serverWarnings(certPem: string, authorities: readonly Authority[], caFile: string): readonly string[] {
  const own = new X509Certificate(certPem);
  const chain = blocksOf(certPem, 'CERTIFICATE').map((pem) => new X509Certificate(pem));
  const isSigned = chain.some((part) => authorities.some(({ certificate }) => isSignedBy(part, certificate)));
  if (isSigned) return [];
  return [
    `The server's certificate (${shownName(own)}) is not signed by ${caFile}: clients of that authority cannot check it`,
  ];
}

function listWarnings(
  authorities: readonly Authority[],
  lists: readonly RevocationList[],
  crlFile: string,
  now: Date,
): readonly string[] {
  const listed = new Set(lists.map(({ issuer }) => issuer));
  const unlisted = authorities.filter(({ certificate }) => !listed.has(readNames(certificate.raw).subject));
  const outdated = lists.filter(({ nextUpdate }) => nextUpdate !== undefined && nextUpdate < now);
  return [
    ...unlisted.map(
      ({ certificate }) => `${crlFile} has no list of ${shownName(certificate)}: all its clients are turned away`,
    ),
    ...outdated.map(
      ({ nextUpdate }) =>
        `A list of ${crlFile} is outdated since ${nextUpdate?.toISOString()}: all clients of its authority are turned away until it is replaced`,
    ),
  ];
}

const shownName = ({ subject }: X509Certificate): string =>
  subject.replaceAll('\n', ', ') || 'a certificate without a name';

function using<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${file} cannot be used: ${reasonOf(error)}`, { cause: error });
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(file);
    if (bytes.length > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return bytes.toString('latin1');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(`${file} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}
