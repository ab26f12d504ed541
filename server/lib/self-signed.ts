// Makes one self-signed certificate with its key; the caller decides where to store it.
import { generateKeyPair, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { parseIp } from '../api/text/ip.ts';
import * as der from './der.ts';

export interface CertificateRequest {
  /** Cut at 64 characters, the limit of the standard. */
  readonly commonName: string;
  readonly organization: string;
  /** DNS names and IP addresses. */
  readonly subjectAltNames: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly usage: 'server' | 'client';
  /** Default P-384; P-256 costs half, which matters for processes that run for a second. */
  readonly curve?: Curve;
}

export type Curve = 'P-256' | 'P-384';

export interface KeyAndCertificate {
  readonly certPem: string;
  /** PEM `EC PRIVATE KEY`. */
  readonly keyPem: string;
}

const curves = {
  'P-256': { namedCurve: 'prime256v1', digest: 'sha256', signature: der.sequence(der.oid('1.2.840.10045.4.3.2')) },
  'P-384': { namedCurve: 'secp384r1', digest: 'sha384', signature: der.sequence(der.oid('1.2.840.10045.4.3.3')) },
} as const;
const usages = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const;

/** ECDSA, signed with the digest of the curve's size, a random serial of 128 bits. */
export async function makeSelfSigned(request: CertificateRequest): Promise<KeyAndCertificate> {
  const { namedCurve, digest, signature: algorithm } = curves[request.curve ?? 'P-384'];
  const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', { namedCurve });
  const body = certificateBody(request, publicKey, algorithm, randomBytes(16));
  const certificate = der.sequence(body, algorithm, der.bits(sign(digest, body, privateKey)));
  return {
    certPem: pem('CERTIFICATE', certificate),
    keyPem: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
  };
}

function certificateBody(
  request: CertificateRequest,
  publicKey: KeyObject,
  algorithm: der.Der,
  serial: Uint8Array,
): der.Der {
  const name = der.sequence(
    attribute('2.5.4.10', request.organization),
    attribute('2.5.4.3', request.commonName.slice(0, 64)),
  );
  return der.sequence(
    der.explicit(0, der.unsigned(Uint8Array.of(2))),
    der.unsigned(serial),
    algorithm,
    name,
    der.sequence(der.time(request.notBefore), der.time(request.notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions(request))),
  );
}

const attribute = (type: string, value: string): der.Der => der.set(der.sequence(der.oid(type), der.utf8(value)));

function extensions(request: CertificateRequest): der.Der[] {
  // digitalSignature and keyEncipherment are bits 0 and 2; five bits of the byte are unused.
  const keyUsage = der.bits(Uint8Array.of(0b1010_0000), 5);
  const found = [
    extension('2.5.29.15', true, keyUsage),
    extension('2.5.29.37', false, der.sequence(der.oid(usages[request.usage]))),
    extension('2.5.29.19', true, der.sequence()),
  ];
  const names = [...new Set(request.subjectAltNames)].map(alternativeName).filter((name) => name !== undefined);
  if (names.length > 0) found.push(extension('2.5.29.17', false, der.sequence(...names)));
  return found;
}

const extension = (type: string, critical: boolean, value: Uint8Array): der.Der =>
  der.sequence(der.oid(type), ...(critical ? [der.boolean(true)] : []), der.octets(value));

function alternativeName(name: string): der.Der | undefined {
  const ip = parseIp(name);
  if (ip !== undefined) {
    return der.tagged(0x87, Buffer.from(ip.value.toString(16).padStart(ip.family === 4 ? 8 : 32, '0'), 'hex'));
  }
  return /^[A-Za-z0-9._-]{1,253}$/.test(name) ? der.tagged(0x82, Buffer.from(name)) : undefined;
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
