// Makes certificates: self-signed ones with a new key, and small authorities; callers store them.
import { createPublicKey, generateKeyPair, randomBytes, sign, type KeyObject } from 'node:crypto';
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
  readonly usage: 'server' | 'client' | 'peer';
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
const serverUsage = '1.3.6.1.5.5.7.3.1';
const clientUsage = '1.3.6.1.5.5.7.3.2';
const usages = { server: [serverUsage], client: [clientUsage], peer: [serverUsage, clientUsage] } as const;

/** ECDSA, signed with the digest of the curve's size, a random serial of 128 bits. */
export async function makeSelfSigned(request: CertificateRequest): Promise<KeyAndCertificate> {
  const { publicKey, privateKey } = await newPair(request.curve);
  const certPem = certificate({ ...request, extensions: extensions(request) }, publicKey, { ...request, privateKey });
  return { certPem, keyPem: keyPemOf(privateKey) };
}

/** The signer; the names are those of its own certificate. */
export interface Issuer {
  readonly commonName: string;
  readonly organization: string;
  readonly privateKey: KeyObject;
}

/** The issuer's own certificate, which may sign others. Every holder of the key can make one; any of them verifies what the others sign. */
export function makeAuthority(issuer: Issuer, { notBefore, notAfter }: Validity): string {
  // keyCertSign is bit 5; two bits of the byte are unused.
  const mayFollow = der.sequence(der.boolean(true));
  const found = [
    extension('2.5.29.15', true, der.bits(Uint8Array.of(0b0000_0100), 2)),
    extension('2.5.29.19', true, mayFollow),
  ];
  return certificate({ ...issuer, notBefore, notAfter, extensions: found }, createPublicKey(issuer.privateKey), issuer);
}

/** Like a self-signed one, but signed by the issuer. */
export async function makeSigned(request: CertificateRequest, issuer: Issuer): Promise<KeyAndCertificate> {
  const { publicKey, privateKey } = await newPair(request.curve);
  const certPem = certificate({ ...request, extensions: extensions(request) }, publicKey, issuer);
  return { certPem, keyPem: keyPemOf(privateKey) };
}

type Validity = Pick<CertificateRequest, 'notBefore' | 'notAfter'>;
type Subject = Pick<CertificateRequest, 'commonName' | 'organization'>;

const newPair = (curve: Curve = 'P-384') => promisify(generateKeyPair)('ec', { namedCurve: curves[curve].namedCurve });

const keyPemOf = (key: KeyObject): string => key.export({ type: 'sec1', format: 'pem' }).toString();

function certificate(
  of: Subject & Validity & { readonly extensions: readonly der.Der[] },
  publicKey: KeyObject,
  issuer: Issuer,
): string {
  const { digest, algorithm } = signatureOf(issuer.privateKey);
  const body = der.sequence(
    der.explicit(0, der.unsigned(Uint8Array.of(2))),
    der.unsigned(randomBytes(16)),
    algorithm,
    nameOf(issuer),
    der.sequence(der.time(of.notBefore), der.time(of.notAfter)),
    nameOf(of),
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...of.extensions)),
  );
  return pem('CERTIFICATE', der.sequence(body, algorithm, der.bits(sign(digest, body, issuer.privateKey))));
}

/** Throws an Error that names an unsupported kind of key. */
function signatureOf(key: KeyObject): { readonly digest: string; readonly algorithm: der.Der } {
  if (key.asymmetricKeyType === 'rsa')
    return { digest: 'sha256', algorithm: der.sequence(der.oid('1.2.840.113549.1.1.11'), der.tagged(0x05)) };
  const curve = key.asymmetricKeyDetails?.namedCurve;
  const known = Object.values(curves).find(({ namedCurve }) => namedCurve === curve);
  if (known === undefined)
    throw new Error(
      `a key of type ${curve ?? key.asymmetricKeyType} cannot sign certificates here: use ECDSA P-256 or P-384, or RSA`,
    );
  return { digest: known.digest, algorithm: known.signature };
}

const nameOf = ({ organization, commonName }: Subject): der.Der =>
  der.sequence(attribute('2.5.4.10', organization), attribute('2.5.4.3', commonName.slice(0, 64)));

const attribute = (type: string, value: string): der.Der => der.set(der.sequence(der.oid(type), der.utf8(value)));

function extensions(request: Pick<CertificateRequest, 'usage' | 'subjectAltNames'>): der.Der[] {
  // digitalSignature and keyEncipherment are bits 0 and 2; five bits of the byte are unused.
  const keyUsage = der.bits(Uint8Array.of(0b1010_0000), 5);
  const found = [
    extension('2.5.29.15', true, keyUsage),
    extension('2.5.29.37', false, der.sequence(...usages[request.usage].map((usage) => der.oid(usage)))),
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
