// Documents to bytes and back; the one place that upgrades old schema versions on reading.
import { StoreError } from '../store/store.ts';
import type { Documents, Kind } from './documents.ts';

const newestVersion: { readonly [K in Kind]: number } = {
  containers: 1,
  snapshots: 1,
  backups: 1,
  profiles: 1,
  networks: 1,
  networkAcls: 1,
  pools: 1,
  volumes: 1,
  volumeSnapshots: 1,
  images: 1,
  aliases: 1,
  certificates: 1,
  projects: 1,
  server: 1,
  sagas: 1,
  members: 1,
  cluster: 1,
  memberConfig: 1,
  clusterKeys: 1,
  joinTokens: 1,
  memberGroups: 1,
  poolDefinitions: 1,
  networkDefinitions: 1,
  warnings: 1,
};

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
  if (typeof version !== 'number' || version < 1 || version > newestVersion[kind]) {
    throw new StoreError(
      'Corrupt',
      `The record ${recordKey(kind, name)} has version ${String(version)}; this release reads up to ${newestVersion[kind]}`,
    );
  }
  return parsed as Documents[K];
}

export function recordKey(kind: Kind, name: string): string {
  return `/${kind}/${name}`;
}
