// Reads the certificates of a connection to a host from their files.
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClientOptions } from '../../server/client/client.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';

export interface CertificatePaths {
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
  /** A path or a fingerprint. */
  readonly serverCert?: string | undefined;
}

/** Names of the files in messages. */
type Names = Readonly<Record<keyof CertificatePaths, string>>;

/** A file that cannot be read, or that holds no certificate or key. */
export class CertificateFileError extends Error {
  override readonly name = 'CertificateFileError';
}

export async function readTls(
  { clientCert, clientKey, serverCert }: CertificatePaths,
  names: Names,
): Promise<NonNullable<ClientOptions['tls']>> {
  const isFingerprint = serverCert !== undefined && /^[0-9A-Fa-f:]{64,}$/.test(serverCert);
  return {
    ...(clientCert === undefined ? {} : { certificate: await readPem(names.clientCert, clientCert, 'CERTIFICATE') }),
    ...(clientKey === undefined ? {} : { key: await readPem(names.clientKey, clientKey, 'PRIVATE KEY') }),
    ...(serverCert === undefined
      ? {}
      : { serverCertificate: isFingerprint ? serverCert : await readPem(names.serverCert, serverCert, 'CERTIFICATE') }),
    ...(serverCert !== undefined || clientCert === undefined ? {} : await authorityBeside(clientCert)),
  };
}

/** Reads `client.ca` beside the client certificate: the CA that must have signed the server's certificate. */
async function authorityBeside(clientCert: string): Promise<{ readonly ca?: string }> {
  const path = join(dirname(clientCert), 'client.ca');
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  return isThere ? { ca: await readPem('client.ca', path, 'CERTIFICATE') } : {};
}

async function readPem(name: string, path: string, what: 'CERTIFICATE' | 'PRIVATE KEY'): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CertificateFileError(`Cannot read ${name}: ${reasonOf(error)}`, { cause: error });
  });
  // `RSA PRIVATE KEY` and `EC PRIVATE KEY` are keys too.
  if (!new RegExp(`-----BEGIN (?:[A-Z]+ )?${what}-----`).test(text))
    throw new CertificateFileError(`${name} ${path} contains no PEM ${what.toLowerCase()}`);
  return text;
}
