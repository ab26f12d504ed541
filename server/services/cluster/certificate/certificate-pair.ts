// Checks the certificate and key that all members of a cluster are to serve. Pure but for parsing by node:crypto and node:tls.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ClusterCertificatePut } from '../../../api/cluster/cluster.ts';
import type { Problem } from '../../../api/problem.ts';
import { fingerprintOf } from '../../../auth/identify.ts';
import type { ServerCertificate } from '../../../auth/server-certificate.ts';
import { reasonOf } from '../../../lib/shared/reason.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

const paths = { cert: 'cluster_certificate', key: 'cluster_certificate_key' } as const;
const serverUsage = '1.3.6.1.5.5.7.3.1';
const maxCharacters = 128 * 1024;
const maxOfChain = 10;
const block = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Returns all problems at once. */
export function judgePair(
  body: ClusterCertificatePut,
  now: Date,
): { readonly pair: ServerCertificate } | { readonly problems: readonly Problem[] } {
  const chain = chainOf(body.cluster_certificate);
  const key = keyOf(body.cluster_certificate_key);
  const problems = [
    ...(Array.isArray(chain) ? certificateProblems(chain[0], now) : [{ path: paths.cert, message: chain }]),
    ...(typeof key === 'string' ? [{ path: paths.key, message: key }] : []),
  ];
  if (problems.length > 0 || !Array.isArray(chain) || typeof key === 'string') return { problems };
  const [certificate] = chain;
  if (!certificate.checkPrivateKey(key))
    return { problems: [{ path: paths.key, message: 'must be the key of the certificate, is that of another one' }] };
  const pair = {
    certPem: chain.map(String).join(''),
    keyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    fingerprint: fingerprintOf(certificate.raw),
  };
  const unfit = tlsProblem(pair);
  return unfit === undefined ? { pair } : { problems: [{ path: paths.cert, message: unfit }] };
}

function chainOf(text: string): [X509Certificate, ...X509Certificate[]] | string {
  if (text.trim() === '') return 'is required';
  if (text.length > maxCharacters) return `must have at most ${maxCharacters} characters`;
  const blocks = text.match(block) ?? [];
  if (blocks.length > maxOfChain) return `must have at most ${maxOfChain} certificates`;
  try {
    const [first, ...others] = blocks.map((pem) => new X509Certificate(pem));
    if (first !== undefined) return [first, ...others];
  } catch {
    // Reported below.
  }
  return 'must be a certificate in PEM form (-----BEGIN CERTIFICATE-----)';
}

function certificateProblems(certificate: X509Certificate, now: Date): readonly Problem[] {
  const { validFrom, validTo, keyUsage } = certificate;
  const problem = (message: string): readonly Problem[] => [{ path: paths.cert, message }];
  if (now.getTime() < Date.parse(validFrom)) return problem(`is not valid before ${validFrom}: it is too early for it`);
  if (now.getTime() > Date.parse(validTo)) return problem(`expired on ${validTo}: have a new one made`);
  // Node's types omit that it can be undefined.
  const usages = keyUsage as readonly string[] | undefined;
  if (usages !== undefined && !usages.includes(serverUsage))
    return problem('is not for servers: its extended key usage must have serverAuth');
  return [];
}

function keyOf(text: string): KeyObject | string {
  if (text.trim() === '') return 'is required';
  if (text.length > maxCharacters) return `must have at most ${maxCharacters} characters`;
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: *4, *ENCRYPTED/m.test(text))
    return 'has a passphrase, which the members do not know: take it off first (openssl pkey -in KEY -out PLAIN)';
  return attempt(() => createPrivateKey(text), 'must be a private key in PEM form (-----BEGIN PRIVATE KEY-----)');
}

/** TLS's own objection, for example that the key is too short. */
function tlsProblem({ certPem, keyPem }: ServerCertificate): string | undefined {
  try {
    createSecureContext({ cert: certPem, key: keyPem, minVersion: 'TLSv1.2' });
    return undefined;
  } catch (error) {
    return `cannot be served with: ${reasonOf(error)}`;
  }
}
