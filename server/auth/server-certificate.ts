// Keeps the daemon's own TLS certificate: reads it from its directory, or creates it there at the first start.
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { hostname, networkInterfaces, userInfo } from 'node:os';
import { join } from 'node:path';
import { writeDurably } from '../lib/durable-files.ts';
import { fingerprintOf } from './identify.ts';
import { readIfThere } from '../lib/shared/missing-files.ts';

export interface ServerCertificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** SHA-256 of the DER, hexadecimal. */
  readonly fingerprint: string;
}

export interface Host {
  readonly hostname: string;
  readonly user: string;
  readonly addresses: readonly string[];
  readonly now: Date;
}

const years = 10;

/** `server.crt` and `server.key` (0600) of the directory. The certificate is written last: a crash leaves the pair, or at most a key
 *  without a certificate, which the next start replaces. A certificate without its key is never replaced silently, since clients know the
 *  server by it: that throws, as does a pair that does not match. */
export async function ensureServerCertificate(dir: string, host: () => Host = thisHost): Promise<ServerCertificate> {
  const certFile = join(dir, 'server.crt');
  const keyFile = join(dir, 'server.key');
  const certPem = await readIfThere(certFile);
  if (certPem === undefined) return makePair(dir, certFile, keyFile, host());
  const keyPem = await readIfThere(keyFile);
  if (keyPem === undefined) {
    throw new Error(
      `Reading the server certificate failed: ${certFile} exists but ${keyFile} does not; restore the key, or remove the certificate to have a new pair made`,
    );
  }
  return checkPair(certPem, keyPem, certFile, keyFile);
}

/** For this machine's listener: its names, and every address that is not link-local. */
export function thisHost(): Host {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((entry) => !entry.address.startsWith('fe80:') && !entry.address.startsWith('169.254.'))
    .map((entry) => entry.address);
  return { hostname: hostname(), user: userInfo().username, addresses, now: new Date() };
}

/** Accepts a server whose clock is late, or was corrected since: all members of a cluster have the same certificate. */
const lateClocksMs = 24 * 3_600_000;

async function makePair(dir: string, certFile: string, keyFile: string, host: Host): Promise<ServerCertificate> {
  const { makeSelfSigned } = await import('../lib/self-signed.ts');
  const notAfter = new Date(host.now);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + years);
  const { certPem, keyPem } = await makeSelfSigned({
    commonName: `${host.user}@${host.hostname}`,
    organization: 'Gantry',
    subjectAltNames: [host.hostname, '127.0.0.1', '::1', ...host.addresses],
    notBefore: new Date(host.now.getTime() - lateClocksMs),
    notAfter,
    usage: 'server',
  });
  await mkdir(dir, { recursive: true });
  await writeDurably(keyFile, keyPem, 0o600);
  await writeDurably(certFile, certPem, 0o644);
  return checkPair(certPem, keyPem, certFile, keyFile);
}

export function checkPair(certPem: string, keyPem: string, certFile: string, keyFile: string): ServerCertificate {
  try {
    const certificate = new X509Certificate(certPem);
    if (!certificate.checkPrivateKey(createPrivateKey(keyPem)))
      throw new Error('the key does not match the certificate');
    return { certPem, keyPem, fingerprint: fingerprintOf(certificate.raw) };
  } catch (cause) {
    throw new Error(`Using the server certificate ${certFile} with the key ${keyFile} failed`, { cause });
  }
}
