// Identifies the caller from facts of the connection; policy.ts decides what callers may do. Pure but for parsing by node:crypto.
import { X509Certificate, createHash } from 'node:crypto';
import type { OidcUser } from './oidc/settings.ts';
import type { CallerClass } from '../api/endpoints/endpoint.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface ConnectionFacts {
  readonly transport: 'unix' | 'tls';
  /** DER of the peer's certificate, whose key it has proved to own; absent if it presented none. */
  readonly peerCertificate?: Uint8Array;
  /** TLS has verified it against the authorities that this server accepts. */
  readonly isVerified?: boolean;
  /** The token in the header of a request over TLS. */
  readonly bearer?: string;
}

export interface TrustStore {
  /** Client certificates in the trust store. */
  readonly isTrusted: (fingerprint: string) => boolean;
  /** Trusted client certificates that may only read metrics. */
  readonly isForMetrics?: (fingerprint: string) => boolean;
  /** The only projects that the client with this certificate may use; undefined: all, and the server itself. */
  readonly projectsOf?: (fingerprint: string) => readonly string[] | undefined;
  /** The authority in server.ca suffices for trust. */
  readonly trustsAuthority?: () => boolean;
  /** A certificate of the daemon, or of the members of the cluster: they may have two while the cluster changes it. */
  readonly isOfMember?: (fingerprint: string) => boolean;
  /** The user of a checked token; undefined for any other, or an expired one. */
  readonly userOf?: (bearer: string) => OidcUser | undefined;
}

/** What the connection proves about its caller. */
export interface CallerFacts {
  readonly class: CallerClass;
  /** SHA-256 of the certificate, hexadecimal; absent without one. */
  readonly fingerprint?: string;
  readonly projects?: readonly string[];
  /** Name of the user whose token the request has. */
  readonly user?: string;
  /** The user's identity, whatever its name. */
  readonly subject?: string;
  readonly internal?: boolean;
  /** The certificate may only read metrics: its client is untrusted otherwise. */
  readonly isForMetrics?: boolean;
}

/** Anyone who can open the socket is trusted (spec 5.1). Over TLS the certificate decides, or its signer: the fingerprint covers every byte
 *  of it, so an equal fingerprint is an equal certificate. */
export function identifyCaller(connection: ConnectionFacts, trust: TrustStore, now: Date): CallerFacts {
  if (connection.transport === 'unix') return { class: 'trusted' };
  if (connection.bearer !== undefined) return userCaller(trust.userOf?.(connection.bearer));
  const der = connection.peerCertificate;
  if (der === undefined || der.length === 0) return { class: 'guest' };
  const facts = factsOf(der);
  const { fingerprint } = facts;
  const internal = trust.isOfMember?.(fingerprint) === true;
  if (trust.isForMetrics?.(fingerprint) === true) return metricsCaller(facts, trust, now);
  const isSigned = connection.isVerified === true && trust.trustsAuthority?.() === true;
  const isKnown = internal || isSigned || trust.isTrusted(fingerprint);
  if (!isKnown || !isValidAt(facts, now)) return { class: 'untrusted', fingerprint };
  if (internal) return { class: 'trusted', fingerprint, internal };
  const projects = trust.projectsOf?.(fingerprint);
  return projects === undefined ? { class: 'trusted', fingerprint } : { class: 'restricted', fingerprint, projects };
}

/** Even if an authority vouches for it: the trust store's entry restricts it. */
function metricsCaller(facts: CertificateFacts, trust: TrustStore, now: Date): CallerFacts {
  const { fingerprint } = facts;
  if (!isValidAt(facts, now)) return { class: 'untrusted', fingerprint };
  const projects = trust.projectsOf?.(fingerprint);
  const restriction = projects === undefined ? {} : { projects };
  return { class: 'untrusted', fingerprint, isForMetrics: true, ...restriction };
}

/** A token decides alone: a certificate of the same connection is ignored. */
function userCaller(user: OidcUser | undefined): CallerFacts {
  if (user === undefined) return { class: 'guest' };
  const { name, ...grant } = user;
  return { ...grant, user: name };
}

/** SHA-256 of the DER, lower-case hexadecimal. */
export const fingerprintOf = (der: Uint8Array): string => createHash('sha256').update(der).digest('hex');

interface CertificateFacts {
  readonly fingerprint: string;
  /** Milliseconds since 1970; absent: unreadable. */
  readonly validity?: { readonly fromMs: number; readonly toMs: number };
}

/** A connection asks with the same bytes at each request; parsing them takes ten times as long as the rest of a small answer. */
const factsByDer = new WeakMap<Uint8Array, CertificateFacts>();

function factsOf(der: Uint8Array): CertificateFacts {
  const known = factsByDer.get(der);
  if (known !== undefined) return known;
  const validity = validityOf(der);
  const facts = { fingerprint: fingerprintOf(der), ...withoutUndefined({ validity }) };
  factsByDer.set(der, facts);
  return facts;
}

function validityOf(der: Uint8Array): CertificateFacts['validity'] {
  try {
    const certificate = new X509Certificate(der);
    const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
    return Number.isNaN(fromMs) || Number.isNaN(toMs) ? undefined : { fromMs, toMs };
  } catch {
    return undefined;
  }
}

const isValidAt = ({ validity }: CertificateFacts, now: Date): boolean =>
  validity !== undefined && validity.fromMs <= now.getTime() && now.getTime() <= validity.toMs;
