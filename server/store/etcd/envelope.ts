// The format of a value in etcd: a checksum over key and value, and the random id of the write that put it. Pure.
import { crc32 } from 'node:zlib';
import { storeErrors } from '../store-errors.ts';

export const writeIdBytes = 12;
const format = 1;
const headBytes = 1 + 4 + writeIdBytes;

export function pack(key: string, value: Uint8Array, writeId: Buffer): Buffer {
  const packed = Buffer.allocUnsafe(headBytes + value.byteLength);
  packed[0] = format;
  writeId.copy(packed, 5);
  packed.set(value, headBytes);
  packed.writeUInt32LE(sum(key, packed), 1);
  return packed;
}

/** Throws Corrupt if the checksum does not match. */
export function unpack(key: string, packed: Buffer): Uint8Array {
  if (packed.length < headBytes || packed[0] !== format || packed.readUInt32LE(1) !== sum(key, packed))
    throw storeErrors.corruptRecord(key);
  return new Uint8Array(packed.subarray(headBytes));
}

/** The id of the write that put this value. */
export function writeIdOf(packed: Buffer): Buffer {
  return packed.subarray(5, headBytes);
}

const sum = (key: string, packed: Buffer): number => crc32(packed.subarray(5), crc32(key));
