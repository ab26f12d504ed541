// Judges certificates that users give for other servers. Pure.
import { createHash, X509Certificate } from 'node:crypto';

/** Why the text is no certificate; undefined when it is one. */
export function certificateRule(pem: string): string | undefined {
  try {
    fingerprintOf(pem);
    return undefined;
  } catch {
    return 'must be a certificate in PEM form (-----BEGIN CERTIFICATE-----)';
  }
}

/** SHA-256 of its DER form in hex. Throws when it is none. */
export const fingerprintOf = (pem: string): string =>
  createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
