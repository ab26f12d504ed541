// Documents to bytes and back; the one place that upgrades old schema versions on reading.
import { StoreError } from '../store/store.ts';
import { recordKinds, type Documents, type Kind } from './documents.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeDocument<K extends Kind>(document: Documents[K]): Uint8Array {
  return encoder.encode(JSON.stringify(document));
}

/** Throws StoreError Corrupt, naming the record, if it is not JSON or a newer release wrote it. */
export function decodeDocument<K extends Kind>(kind: K, name: string, bytes: Uint8Array): Documents[K] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    throw new StoreError('Corrupt', `The record ${recordKey(kind, name)} is not JSON`, { cause });
  }
  const version = typeof parsed === 'object' && parsed !== null && 'v' in parsed ? parsed.v : undefined;
  const newest = recordKinds[kind].version;
  if (typeof version !== 'number' || version < 1 || version > newest) {
    throw new StoreError(
      'Corrupt',
      `The record ${recordKey(kind, name)} has version ${String(version)}; this release reads up to ${newest}`,
    );
  }
  return parsed as Documents[K];
}

export function recordKey(kind: Kind, name: string): string {
  return `/${kind}/${name}`;
}
