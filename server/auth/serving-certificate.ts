// The certificate that the daemon serves: its own, or in a cluster the one that all members share.
import { checkPair, ensureServerCertificate, type ServerCertificate } from './server-certificate.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export class ServingCertificate {
  #current: ServerCertificate;
  readonly #changed = new Set<() => void>();

  private constructor(current: ServerCertificate) {
    this.#current = current;
  }

  /** `isMember`: the host is in a cluster, whose pair is `cluster.crt` and `cluster.key` of the directory. */
  static async open(dir: string, isMember: boolean): Promise<ServingCertificate> {
    return new ServingCertificate(isMember ? await readClusterPair(dir) : await ensureServerCertificate(dir));
  }

  get current(): ServerCertificate {
    return this.#current;
  }

  /** Reads the files again after the host has joined or left a cluster. */
  async reload(dir: string, isMember: boolean): Promise<void> {
    this.use(isMember ? await readClusterPair(dir) : await ensureServerCertificate(dir));
  }

  /** Applies to new connections. */
  use(certificate: ServerCertificate): void {
    this.#current = certificate;
    for (const changed of this.#changed) changed();
  }

  onChange(changed: () => void): void {
    this.#changed.add(changed);
  }
}

async function readClusterPair(dir: string): Promise<ServerCertificate> {
  const [certFile, keyFile] = [join(dir, 'cluster.crt'), join(dir, 'cluster.key')];
  const [certPem, keyPem] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return checkPair(certPem, keyPem, certFile, keyFile);
}
