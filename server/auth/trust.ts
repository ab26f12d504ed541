// Adds a certificate to the trust store: checks the request and returns the record. A service stores it.
import { X509Certificate } from 'node:crypto';
import type { CallerClass } from '../api/endpoints/endpoint.ts';
import { isCertificateType, type CertificateCreate, type CertificateType } from '../api/server/certificate.ts';
import { errors } from '../api/errors.ts';
import { fingerprintOf } from './identify.ts';
import { verifyPassword } from '../lib/secrets.ts';
import type { AttemptLimits, Attempts } from '../lib/shared/attempts.ts';

export interface ParsedCertificate {
  readonly pem: string;
  /** SHA-256 of the DER, hexadecimal. */
  readonly fingerprint: string;
  /** Common name of its subject; empty without one. */
  readonly commonName: string;
}

export interface TrustEntry {
  readonly type: CertificateType;
  readonly name: string;
  readonly certificate: string;
  readonly fingerprint: string;
}

export interface TrustRequest {
  readonly body: CertificateCreate;
  /** DER of the connection's certificate, used if the body has none. */
  readonly peerCertificate?: Uint8Array;
  /** Host the request came from, the default name. Absent on the unix socket. */
  readonly remoteHost?: string;
  readonly isKnown: (fingerprint: string) => boolean;
}

/** A real certificate has some 1-2 KB. */
const maxCertificateBytes = 64 * 1024;

/** Base64 of the DER (as common clients send it), or PEM. Undefined for any other text. */
export function parseCertificate(text: string): ParsedCertificate | undefined {
  if (text.length > maxCertificateBytes) return undefined;
  const blocks = [...text.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g)];
  const base64 = (blocks[0]?.[1] ?? text).replaceAll(/\s+/g, '');
  if (blocks.length > 1 || base64 === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  return parseDer(Buffer.from(base64, 'base64'));
}

function parseDer(der: Uint8Array): ParsedCertificate | undefined {
  try {
    const parsed = new X509Certificate(der);
    // The parser stops at the end of the certificate; trailing bytes would change the fingerprint, but not the key.
    if (!parsed.raw.equals(der)) return undefined;
    const commonName = /(?:^|\n)CN=([^\n]*)/.exec(parsed.subject)?.[1] ?? '';
    return { pem: parsed.toString(), fingerprint: fingerprintOf(der), commonName };
  } catch {
    return undefined;
  }
}

/** The record for a request with an accepted password. Throws AppError for every mistake of the caller. */
export function planTrust(request: TrustRequest): TrustEntry {
  const { body } = request;
  const { type } = body;
  if (!isCertificateType(type)) {
    const message = `must be client or metrics, is ${JSON.stringify(type)}`;
    throw errors.invalid('certificate', [{ path: 'type', message }]);
  }
  const certificate = certificateOf(request);
  if (request.isKnown(certificate.fingerprint)) {
    throw errors.alreadyTrusted(certificate.fingerprint);
  }
  const names = [body.name, request.remoteHost, certificate.commonName, certificate.fingerprint.slice(0, 12)];
  const name = names.find((candidate) => candidate !== undefined && candidate !== '') ?? '';
  return { type, name, certificate: certificate.pem, fingerprint: certificate.fingerprint };
}

function certificateOf(request: TrustRequest): ParsedCertificate {
  const sent = request.body.certificate ?? '';
  if (sent === '' && request.peerCertificate === undefined) {
    throw errors.invalid('certificate', [
      { path: 'certificate', message: 'is required: this connection has no client certificate' },
    ]);
  }
  const parsed = sent === '' ? parseDer(request.peerCertificate ?? new Uint8Array()) : parseCertificate(sent);
  if (parsed === undefined) {
    throw errors.invalid('certificate', [
      { path: 'certificate', message: 'must be one x509 certificate, as PEM or as base64 of its DER' },
    ]);
  }
  return parsed;
}

/** A longer wait is refused at once, so that waiting requests do not pile up. */
const maxWaitMs = 5_000;

export const trustLimits: AttemptLimits = { free: 3, firstDelayMs: 500, maxDelayMs: 30_000, maxAddresses: 1024 };

export interface AttemptDeps {
  readonly attempts: Attempts;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface PasswordDeps extends AttemptDeps {
  /** Stored hash of core.trust_password; undefined if none is set. */
  readonly stored: string | undefined;
  /** Called for a wrong password: logs the address. */
  readonly onWrong: (address: string) => void;
}

/** Accepts trusted callers, and others with the right password; throws AppError forbidden otherwise. Runs before any check of the
 *  certificate, so that its errors reveal nothing to untrusted callers. */
export async function checkTrustPassword(
  caller: { readonly class: CallerClass; readonly address: string },
  password: string | undefined,
  deps: PasswordDeps,
  signal: AbortSignal,
): Promise<void> {
  if (caller.class === 'trusted') return;
  if (deps.stored === undefined || deps.stored === '') {
    throw errors.forbidden('Trusting a certificate failed: no trust password is set on the server');
  }
  if (password === undefined || password === '') {
    throw errors.forbidden('Trusting a certificate failed: the trust password is missing');
  }
  await waitForTurn(caller.address, deps, signal);
  if (!(await verifyPassword(password, deps.stored))) {
    deps.onWrong(caller.address);
    throw errors.forbidden('Trusting a certificate failed: the trust password is wrong');
  }
  deps.attempts.succeeded(caller.address);
}

/** Counts an attempt with a password or token before it is checked, so parallel ones gain nothing. Throws AppError forbidden. */
export async function waitForTurn(
  address: string,
  { attempts, sleep }: AttemptDeps,
  signal: AbortSignal,
): Promise<void> {
  const waitMs = attempts.waitMs(address);
  if (waitMs > maxWaitMs) {
    const seconds = Math.ceil(waitMs / 1000);
    throw errors.forbidden(`Trusting a certificate failed: too many attempts, try again in ${seconds} s`);
  }
  attempts.count(address, waitMs);
  if (waitMs > 0) await sleep(waitMs, signal);
}
