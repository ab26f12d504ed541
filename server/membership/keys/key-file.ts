// DIR/cluster/keys.json: this member's keys of the cluster, the phase it has reached, and the peers to ask for newer keys.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import { clusterDir } from '../membership.ts';
import type { Keyring, KeyState } from './keyring.ts';

export interface KeyPeer {
  readonly name: string;
  readonly address: string;
  /** PEM */
  readonly certificate: string;
}

export interface StoredKeys {
  readonly keyring: Keyring;
  readonly state: KeyState;
  readonly peers: readonly KeyPeer[];
}

export const keyFilePath = (stateDir: string): string => join(clusterDir(stateDir), 'keys.json');

/** Undefined: the host is in no cluster. Throws an Error that names the file when it is damaged. */
export async function readKeyFile(stateDir: string): Promise<StoredKeys | undefined> {
  const path = keyFilePath(stateDir);
  try {
    const { v, keyring, state, peers } = JSON.parse(await readFile(path, 'utf8')) as Partial<StoredKeys> & {
      v?: number;
    };
    if (v !== 1 || keyring === undefined || state === undefined) throw new Error('it holds no keys of a cluster');
    return { keyring, state, peers: peers ?? [] };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(`Reading ${path} failed`, { cause: error });
  }
}

export async function writeKeyFile(stateDir: string, kept: StoredKeys): Promise<void> {
  await writeDurably(keyFilePath(stateDir), `${JSON.stringify({ v: 1, ...kept })}\n`, 0o600);
}
