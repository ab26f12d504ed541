// Which values of the store are encrypted, and how an encrypted one begins. Pure but for the cipher.
import { decrypt, encrypt } from './seal.ts';

/** Values that reveal only which members are present and which names are taken; and the keys, which are sealed for each member. */
const plainPrefixes = ['/signals/', '/uses/', '/names/', '/clusterKeys/'];

/** No document begins with this byte: all of them are JSON. */
const mark = 0x01;
const headBytes = 5;

export const isPlainKey = (key: string): boolean => plainPrefixes.some((prefix) => key.startsWith(prefix));

export function sealValue(key: string, value: Uint8Array, generation: number, data: Buffer): Uint8Array {
  const head = Buffer.alloc(headBytes);
  head[0] = mark;
  head.writeUInt32BE(generation, 1);
  return Buffer.concat([head, encrypt(data, value, key)]);
}

/** The generation of the key that encrypted it; undefined: not encrypted. */
export function generationOf(value: Uint8Array): number | undefined {
  return value.length > headBytes && value[0] === mark ? Buffer.from(value).readUInt32BE(1) : undefined;
}

/** Throws an Error for a value that was modified, or moved to another key of the store. */
export const openValue = (key: string, value: Uint8Array, data: Buffer): Uint8Array =>
  new Uint8Array(decrypt(data, value.subarray(headBytes), key));
