// Packs many records into one block of bytes: crossing threads costs per object, and one block crosses without a copy.
import type { Rev, StoreRecord } from '../store.ts';

export interface PackedRecords {
  readonly keys: readonly string[];
  /** Four numbers a record: createRev, modRev, version, length of the value. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly values: Uint8Array<ArrayBuffer>;
}

const numbersPerRecord = 4;

export function packRecords(records: readonly StoreRecord[]): PackedRecords {
  const numbers = new Float64Array(records.length * numbersPerRecord);
  const values = new Uint8Array(records.reduce((sum, { value }) => sum + value.byteLength, 0));
  let offset = 0;
  records.forEach(({ createRev, modRev, version, value }, index) => {
    numbers.set([createRev, modRev, version, value.byteLength], index * numbersPerRecord);
    values.set(value, offset);
    offset += value.byteLength;
  });
  return { keys: records.map(({ key }) => key), numbers, values };
}

/** Copies each value, so that a reader of one record does not keep the whole block in memory. */
export function unpackRecords({ keys, numbers, values }: PackedRecords): StoreRecord[] {
  let offset = 0;
  return keys.map((key, index) => {
    const at = index * numbersPerRecord;
    const numberAt = (place: number): Rev => numbers[at + place] ?? 0;
    const end = offset + numberAt(3);
    const value = values.slice(offset, end);
    offset = end;
    return { key, value, createRev: numberAt(0), modRev: numberAt(1), version: numberAt(2) };
  });
}

/** The buffers to transfer instead of copying. */
export function buffersOf({ numbers, values }: PackedRecords): ArrayBuffer[] {
  return [numbers.buffer, values.buffer];
}
