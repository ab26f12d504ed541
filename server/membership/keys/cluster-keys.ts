// The keys of the cluster on this host: kept in a file, opened from the record sealed for this member, used for values and certificates.
import { rm } from 'node:fs/promises';
import { StoreError } from '../../store/store.ts';
import type { ClusterKeysDocument } from '../../records/cluster-documents.ts';
import type { EtcdIssuers } from '../etcd/certificates.ts';
import type { Vault } from '../../store/sealed.ts';
import type { MemberIdentity } from './identity.ts';
import { keyFilePath, type KeyPeer, type StoredKeys, readKeyFile, writeKeyFile } from './key-file.ts';
import { compareStates, type Keyring, type KeyState, newGeneration, trustedIn, usedIn } from './keyring.ts';
import { openKeyring, sealKeyring } from './seal.ts';
import { generationOf, isPlainKey, openValue, sealValue } from './vault.ts';
import { ConcurrencyLimit } from '../../lib/shared/concurrency-limit.ts';

export interface ClusterKeysDeps {
  readonly stateDir: string;
  readonly identity: Pick<MemberIdentity, 'current'>;
}

export const keysRecord = '/clusterKeys/current';

export class ClusterKeys implements Vault {
  readonly record = keysRecord;
  readonly #deps: ClusterKeysDeps;
  #kept: StoredKeys | undefined;
  #learned: Keyring = [];
  /** Number of this member; undefined outside a cluster. */
  #number: number | undefined;
  readonly #writes = new ConcurrencyLimit(1);

  constructor(deps: ClusterKeysDeps) {
    this.#deps = deps;
  }

  /** Call at the start of a member. */
  async load(number: number): Promise<void> {
    this.#number = number;
    this.#kept = await readKeyFile(this.#deps.stateDir);
  }

  /** The phase that this member has reached; undefined outside a cluster. */
  get followed(): KeyState | undefined {
    return this.#kept?.state;
  }

  get peers(): readonly KeyPeer[] {
    return this.#kept?.peers ?? [];
  }

  async found(number: number, certificate: string): Promise<ClusterKeysDocument> {
    const keyring = [newGeneration(1)];
    const state = { generation: 1, phase: 'done' as const, trusted: [1], shown: 1 };
    this.#number = number;
    await this.#keep({ keyring, state, peers: [] });
    return { v: 1, ...state, ...sealKeyring(keyring, [{ number, certificate }]), rewritten: true };
  }

  /** Takes the keys of the cluster that this host joins as member `number`. Throws an Error if they are sealed for another member. */
  async join(number: number, document: ClusterKeysDocument): Promise<void> {
    this.#number = number;
    await this.take(document);
    await this.follow(document);
  }

  /** Keeps new keys; uses the old ones until `follow`. Throws an Error if they are not sealed for this member. */
  async take(document: ClusterKeysDocument): Promise<void> {
    const newest = Math.max(0, ...(this.#kept?.keyring ?? []).map(({ generation }) => generation));
    if (this.#kept !== undefined && document.generation < newest) return;
    const keyring = this.open(document);
    const state = this.#kept?.state ?? stateOf(document);
    await this.#keep({ keyring, state, peers: this.peers });
  }

  /** Uses the keys of this state, also after a crash. */
  async follow(state: KeyState): Promise<void> {
    if (this.#kept === undefined) throw new Error('this member has no keys of the cluster');
    await this.#keep({ ...this.#kept, state: stateOf(state) });
  }

  /** Newer than the state that this member has reached. */
  isNewer(document: KeyState): boolean {
    return this.#kept === undefined || compareStates(document, this.#kept.state) > 0;
  }

  async notePeers(peers: readonly KeyPeer[]): Promise<void> {
    if (this.#kept === undefined || JSON.stringify(peers) === JSON.stringify(this.#kept.peers)) return;
    await this.#keep({ ...this.#kept, peers });
  }

  async forget(): Promise<void> {
    this.#kept = undefined;
    this.#learned = [];
    this.#number = undefined;
    await this.#writes.run(() => rm(keyFilePath(this.#deps.stateDir), { force: true }));
  }

  /** All keys of the record. Throws an Error if it is not sealed for this member. */
  open(document: ClusterKeysDocument): Keyring {
    const found = this.#opened(document);
    if (found === undefined) throw new Error('the keys of the cluster are not for this member');
    return found;
  }

  #opened(document: ClusterKeysDocument): Keyring | undefined {
    const keyPem = this.#deps.identity.current?.keyPem;
    const number = this.#number;
    return keyPem === undefined || number === undefined ? undefined : openKeyring(document, { number, keyPem });
  }

  /** Who signs for the etcds, and whom they trust. Throws an Error if the host has no keys. */
  get issuers(): EtcdIssuers {
    if (this.#kept === undefined) throw new Error('this host has no keys of a cluster');
    const { keyring, state } = this.#kept;
    const issuerOf = (wanted: number) =>
      keyring
        .filter(({ generation }) => generation === wanted)
        .map(({ authority: keyPem, generation }) => ({ generation, keyPem }));
    const [shown] = issuerOf(usedIn(state));
    if (shown === undefined) throw new Error(`this member lacks the keys ${usedIn(state)} of the cluster`);
    return { trusted: trustedIn(state).flatMap(issuerOf), shown };
  }

  seal(key: string, value: Uint8Array): Uint8Array {
    const generation = this.#kept === undefined ? 0 : usedIn(this.#kept.state);
    const data = this.#dataOf(generation);
    return data === undefined || isPlainKey(key) ? value : sealValue(key, value, generation, data);
  }

  /** Undefined: this member lacks the key of that generation. Throws StoreError Corrupt. */
  unseal(key: string, value: Uint8Array): Uint8Array | undefined {
    const generation = isPlainKey(key) ? undefined : generationOf(value);
    if (generation === undefined) return value;
    const data = this.#dataOf(generation);
    if (data === undefined) return undefined;
    try {
      return openValue(key, value, data);
    } catch (cause) {
      throw new StoreError('Corrupt', `The value of ${key} was not encrypted by a member for this record`, { cause });
    }
  }

  /** For reading only: `follow` switches writing to it. */
  learn(record: Uint8Array): void {
    this.#learned = this.#opened(JSON.parse(Buffer.from(record).toString()) as ClusterKeysDocument) ?? [];
  }

  /** Whether it is encrypted with an older key than new values are. */
  isOld(key: string, value: Uint8Array): boolean {
    if (this.#kept === undefined || isPlainKey(key)) return false;
    return (generationOf(value) ?? 0) !== usedIn(this.#kept.state);
  }

  #dataOf(wanted: number): Buffer | undefined {
    const known = [...(this.#kept?.keyring ?? []), ...this.#learned];
    const data = known.find(({ generation }) => generation === wanted)?.data;
    return data === undefined ? undefined : Buffer.from(data, 'base64');
  }

  /** Applies at once in memory; resolves when it is on the disk. */
  async #keep(kept: StoredKeys): Promise<void> {
    this.#kept = kept;
    await this.#writes.run(async () => {
      if (this.#kept !== undefined) await writeKeyFile(this.#deps.stateDir, this.#kept);
    });
  }
}

const stateOf = ({ generation, phase, trusted, shown }: KeyState): KeyState => ({ generation, phase, trusted, shown });
