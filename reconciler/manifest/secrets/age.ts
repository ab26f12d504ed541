// Decrypts files of age (age-encryption.org/v1) for X25519 keys. Pure: the cryptography is node's.
import {
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';

const intro = 'age-encryption.org/v1';
const beginArmor = '-----BEGIN AGE ENCRYPTED FILE-----';
const endArmor = '-----END AGE ENCRYPTED FILE-----';
const chunkBytes = 64 * 1024;
const tagBytes = 16;
/** A file key and its tag. */
const wrappedBytes = 32;
const maxStanzas = 200;

export class AgeError extends Error {
  override readonly name = 'AgeError';
}

/** The keys in a file as age-keygen writes it: comments, and lines of AGE-SECRET-KEY-1... */
export function parseAgeKeys(text: string): readonly KeyObject[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#')).map(privateKeyOf);
}

/** `text`: armored. */
export function decryptAge(text: string, keys: readonly KeyObject[]): Buffer {
  const { header, stanzas, mac, payload } = parse(unarmored(text));
  const fileKey = fileKeyOf(stanzas, keys);
  const macKey = derived(fileKey, Buffer.alloc(0), 'header');
  const expected = createHmac('sha256', macKey).update(header).digest();
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected))
    throw new AgeError('the header of the encrypted key was changed');
  return opened(derived(fileKey, payload.subarray(0, 16), 'payload'), payload.subarray(16));
}

function unarmored(text: string): Buffer {
  const lines = text.trim().split(/\r?\n/);
  if (lines[0] !== beginArmor || lines.at(-1) !== endArmor) throw new AgeError('it is no armored file of age');
  return Buffer.from(lines.slice(1, -1).join(''), 'base64');
}

interface Stanza {
  readonly words: readonly string[];
  readonly body: Buffer;
}

interface Parsed {
  /** What its code covers. */
  readonly header: Buffer;
  readonly stanzas: readonly Stanza[];
  readonly mac: Buffer;
  readonly payload: Buffer;
}

function parse(bytes: Buffer): Parsed {
  let at = 0;
  const line = (): string => {
    const end = bytes.indexOf(10, at);
    if (end < 0) throw new AgeError('its header has no end');
    const text = bytes.toString('latin1', at, end);
    at = end + 1;
    return text;
  };
  if (line() !== intro) throw new AgeError(`it does not begin with ${intro}`);
  const stanzas: Stanza[] = [];
  for (;;) {
    const begin = at;
    const words = line().split(' ');
    if (words[0] === '---')
      return {
        header: bytes.subarray(0, begin + 3),
        stanzas,
        mac: Buffer.from(words[1] ?? '', 'base64'),
        payload: bytes.subarray(at),
      };
    if (words[0] !== '->' || stanzas.length === maxStanzas)
      throw new AgeError('its header has a line that means nothing');
    // Lines of a body are 64 characters long, the last one is shorter.
    let body = '';
    for (let next = line(); ; next = line()) {
      body += next;
      if (next.length < 64) break;
    }
    stanzas.push({ words: words.slice(1), body: Buffer.from(body, 'base64') });
  }
}

function fileKeyOf(stanzas: readonly Stanza[], keys: readonly KeyObject[]): Buffer {
  for (const { words, body } of stanzas) {
    const share = Buffer.from(words[1] ?? '', 'base64');
    if (words[0] !== 'X25519' || share.length !== 32 || body.length !== wrappedBytes) continue;
    for (const key of keys) {
      const found = unwrapped(share, body, key);
      if (found !== undefined) return found;
    }
  }
  throw new AgeError('none of the age keys fits');
}

function unwrapped(share: Buffer, body: Buffer, privateKey: KeyObject): Buffer | undefined {
  try {
    const shared = diffieHellman({ privateKey, publicKey: publicKeyOf(share) });
    const own = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).subarray(-32);
    const key = Buffer.from(hkdfSync('sha256', shared, Buffer.concat([share, own]), `${intro}/X25519`, 32));
    return open(key, Buffer.alloc(12), body);
  } catch {
    // It is for another key.
    return undefined;
  }
}

const derived = (key: Buffer, salt: Buffer, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, 32));

function open(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
}

/** Chunks, each with its number and whether it is the last one. */
function opened(key: Buffer, sealed: Buffer): Buffer {
  const parts: Buffer[] = [];
  const size = chunkBytes + tagBytes;
  for (let at = 0, number = 0; ; at += size, number += 1) {
    const chunk = sealed.subarray(at, at + size);
    const isLast = at + size >= sealed.length;
    const nonce = Buffer.alloc(12);
    nonce.writeUInt32BE(number, 7);
    nonce[11] = isLast ? 1 : 0;
    try {
      parts.push(open(key, nonce, chunk));
    } catch (error) {
      throw new AgeError('its contents were changed', { cause: error });
    }
    if (isLast) return Buffer.concat(parts);
  }
}

const privatePrefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const publicPrefix = Buffer.from('302a300506032b656e032100', 'hex');

const publicKeyOf = (raw: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([publicPrefix, raw]), format: 'der', type: 'spki' });

function privateKeyOf(line: string): KeyObject {
  const raw = line.toUpperCase().startsWith('AGE-SECRET-KEY-1') ? unbech32(line) : undefined;
  if (raw?.length !== 32)
    throw new AgeError('a key of age must be a line AGE-SECRET-KEY-1..., as age-keygen writes it');
  return createPrivateKey({ key: Buffer.concat([privatePrefix, raw]), format: 'der', type: 'pkcs8' });
}

const letters = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

function checksum(values: readonly number[]): number {
  let sum = 1;
  for (const value of values) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    for (const [bit, generator] of generators.entries()) if (((top >>> bit) & 1) === 1) sum ^= generator;
  }
  return sum;
}

/** The bytes of a bech32 text; undefined when it has a typing error. */
function unbech32(text: string): Buffer | undefined {
  const lower = text.toLowerCase();
  const split = lower.lastIndexOf('1');
  const codes = [...Buffer.from(lower.slice(0, split))];
  const values = lower
    .slice(split + 1)
    .split('')
    .map((letter) => letters.indexOf(letter));
  const prefix = [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)];
  if (values.includes(-1) || checksum([...prefix, ...values]) !== 1) return undefined;
  const bytes: number[] = [];
  let held = 0;
  let bits = 0;
  for (const value of values.slice(0, -6)) {
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
  }
  return Buffer.from(bytes);
}
