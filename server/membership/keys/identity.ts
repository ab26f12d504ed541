// The certificate that identifies this member to its peers: made for each membership, its key never leaves the host.
import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { hasCode } from '../../lib/shared/error-code.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import { makeSelfSigned } from '../../lib/self-signed.ts';
import { clusterDir, memberPairFiles } from '../membership.ts';
import { attempt } from '../../lib/shared/attempt.ts';

export interface MemberPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** The server name with which a member connects to a peer: the peer then shows its member certificate, not the one for clients. */
export const memberServerName = 'member.gantry.internal';

const dayMs = 24 * 60 * 60_000;
const validMs = 30 * 365 * dayMs;

export class MemberIdentity {
  readonly #stateDir: string;
  #current: MemberPair | undefined;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** Undefined: the host is in no cluster. */
  get current(): MemberPair | undefined {
    return this.#current;
  }

  async ensure(now = new Date()): Promise<MemberPair> {
    this.#current ??= (await readMemberPair(this.#stateDir)) ?? (await this.#make(now));
    return this.#current;
  }

  /** Deletes the pair of a host that left its cluster: the next membership makes another one. */
  async forget(): Promise<void> {
    this.#current = undefined;
    const { cert, key } = memberPairFiles(this.#stateDir);
    await rm(cert, { force: true });
    await rm(key, { force: true });
  }

  /** Writes the certificate last: after a crash the key is without one, and the next start replaces it. */
  async #make(now: Date): Promise<MemberPair> {
    const pair = await makeSelfSigned({
      commonName: 'member of a cluster',
      organization: 'gantry',
      subjectAltNames: [memberServerName],
      notBefore: new Date(now.getTime() - dayMs),
      notAfter: new Date(now.getTime() + validMs),
      usage: 'peer',
      curve: 'P-256',
    });
    const { cert, key } = memberPairFiles(this.#stateDir);
    await mkdir(clusterDir(this.#stateDir), { recursive: true, mode: 0o700 });
    await rm(cert, { force: true });
    await writeDurably(key, pair.keyPem, 0o600);
    await writeDurably(cert, pair.certPem, 0o644);
    return pair;
  }
}

/** Undefined if there is none. Throws an Error that names the files if they do not match. */
export async function readMemberPair(stateDir: string): Promise<MemberPair | undefined> {
  const { cert, key } = memberPairFiles(stateDir);
  try {
    const [certPem, keyPem] = [await readFile(cert, 'utf8'), await readFile(key, 'utf8')];
    return { certPem, keyPem };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(`Reading ${cert} and ${key} failed`, { cause: error });
  }
}

/** SHA-256 of the DER, lower-case hexadecimal; undefined for text that is no certificate. */
export const fingerprintOfPem = (pem: string): string | undefined =>
  attempt(() => new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase());
