// Encrypts values of the store with a key that all members have, and that key for each member with its certificate.
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto';
import type { Keyring } from './keyring.ts';

const cipher = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];

/** Returns iv, text, tag. `about` is authenticated and must be the same for decryption. */
export function encrypt(key: Buffer, plain: Uint8Array, about: string): Buffer {
  const iv = randomBytes(ivBytes);
  const sealing = createCipheriv(cipher, key, iv).setAAD(Buffer.from(about));
  return Buffer.concat([iv, sealing.update(plain), sealing.final(), sealing.getAuthTag()]);
}

/** Throws an Error for a value of another key, or a modified one. */
export function decrypt(key: Buffer, sealed: Uint8Array, about: string): Buffer {
  const end = sealed.length - tagBytes;
  const opening = createDecipheriv(cipher, key, sealed.subarray(0, ivBytes))
    .setAAD(Buffer.from(about))
    .setAuthTag(sealed.subarray(end));
  return Buffer.concat([opening.update(sealed.subarray(ivBytes, end)), opening.final()]);
}

export interface SealedKeyring {
  /** Base64, encrypted with a key that each share holds. */
  readonly keyring: string;
  /** By the number of the member that can open the share. */
  readonly shares: Readonly<Record<string, string>>;
}

export interface Receiver {
  readonly number: number;
  /** PEM of its certificate, with a key on a curve. */
  readonly certificate: string;
}

export function sealKeyring(keyring: Keyring, receivers: readonly Receiver[]): SealedKeyring {
  const key = randomBytes(32);
  const sealed = encrypt(key, Buffer.from(JSON.stringify(keyring)), keyringAbout);
  return {
    keyring: sealed.toString('base64'),
    shares: Object.fromEntries(receivers.map((each) => [each.number, shareFor(each, key)])),
  };
}

/** Adds a share for a member. Throws an Error if this member has no share. */
export function withShare(sealed: SealedKeyring, own: Opener, receiver: Receiver): SealedKeyring {
  const key = openShare(sealed, own);
  if (key === undefined) throw new Error('this member has no share of the keys of the cluster');
  return { ...sealed, shares: { ...sealed.shares, [receiver.number]: shareFor(receiver, key) } };
}

export interface Opener {
  readonly number: number;
  /** PEM of the key of its certificate. */
  readonly keyPem: string;
}

/** Undefined if this member cannot open them. */
export function openKeyring(sealed: SealedKeyring, own: Opener): Keyring | undefined {
  const key = openShare(sealed, own);
  if (key === undefined) return undefined;
  return JSON.parse(decrypt(key, Buffer.from(sealed.keyring, 'base64'), keyringAbout).toString()) as Keyring;
}

const keyringAbout = 'gantry keyring';

function shareFor({ number, certificate }: Receiver, key: Buffer): string {
  const { publicKey: theirs } = new X509Certificate(certificate);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: curveOf(theirs) });
  const made = publicKey.export({ type: 'spki', format: 'der' });
  const sealed = encrypt(agreed(privateKey, theirs, number), key, shareAbout(number));
  return `${made.toString('base64')}.${sealed.toString('base64')}`;
}

function openShare({ shares }: SealedKeyring, { number, keyPem }: Opener): Buffer | undefined {
  const [made, sealed] = shares[number]?.split('.') ?? [];
  if (made === undefined || sealed === undefined) return undefined;
  const theirs = createPublicKey({ key: Buffer.from(made, 'base64'), type: 'spki', format: 'der' });
  try {
    return decrypt(agreed(createPrivateKey(keyPem), theirs, number), Buffer.from(sealed, 'base64'), shareAbout(number));
  } catch {
    // The share was made for an earlier certificate of the member.
    return undefined;
  }
}

const shareAbout = (number: number): string => `gantry share ${number}`;

function agreed(privateKey: KeyObject, publicKey: KeyObject, number: number): Buffer {
  const secret = diffieHellman({ privateKey, publicKey });
  return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), shareAbout(number), 32));
}

function curveOf(key: KeyObject): string {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (curve === undefined) throw new Error('the certificate of a member needs a key on an elliptic curve');
  return curve;
}
