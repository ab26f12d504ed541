// Checks user-supplied certificates of other servers. Pure.
import { createHash, X509Certificate } from 'node:crypto';

/** Why the text is no certificate; undefined if it is one. */
export function certificateRule(pem: string): string | undefined {
  try {
    fingerprintOf(pem);
    return undefined;
  } catch {
    return 'must be a certificate in PEM form (-----BEGIN CERTIFICATE-----)';
  }
}

/** SHA-256 of its DER form in hex. Throws if it is no certificate. */
export const fingerprintOf = (pem: string): string =>
  createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
