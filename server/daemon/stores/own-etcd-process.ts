// The etcd that this host runs for its cluster: its process, files and certificates.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type EtcdIssuers, writeEtcdCertificates } from '../../membership/etcd/certificates.ts';
import { EtcdProcess } from '../../membership/etcd/etcd-process.ts';
import { clusterDir, type ClusterStore } from '../../membership/membership.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { addressesOf, hostOf, nameOf } from './etcd-place.ts';
import { type EtcdNote, etcdNotePath, etcdStartOf, readEtcdNote } from './etcd-note.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface OwnEtcdDeps {
  readonly stateDir: string;
  readonly log: Log;
  /** The program; undefined: the one in PATH. */
  readonly etcdPath: string | undefined;
  /** Current issuers: who signs the etcds' certificates, and whom they trust. */
  readonly issuers: () => EtcdIssuers;
}

export class OwnEtcdProcess {
  readonly #deps: OwnEtcdDeps;
  #process: EtcdProcess | undefined;
  /** Generations of the trusted authorities: in its files, and since its start. */
  #written = '';
  #trusted = '';

  constructor(deps: OwnEtcdDeps) {
    this.#deps = deps;
  }

  /** False where this host keeps no copy of the records. */
  get isThere(): boolean {
    return this.#process !== undefined;
  }

  get status(): Partial<EtcdProcess['status']> {
    return this.#process?.status ?? {};
  }

  /** Founds the etcd of a new cluster. Throws an Error that says why etcd cannot run. */
  async found(address: string, token: string): Promise<void> {
    await this.#remove('etcd');
    const noted = { name: nameOf(address), ...addressesOf(address), first: { kind: 'new' as const, token } };
    const process = this.#newProcess();
    await process.start(etcdStartOf(this.#deps.stateDir, noted));
    this.#process = process;
    await this.#note(noted);
  }

  /** A member's files for reaching the etcds, signed by the current authority. */
  async storeFor(address: string, etcds: string): Promise<ClusterStore> {
    const issuers = this.#deps.issuers();
    const member = { name: nameOf(address), hosts: [hostOf(address)] };
    const { ca, cert, key } = await writeEtcdCertificates(this.#dir('tls'), issuers, member);
    this.#written = issuers.trusted.map(({ generation }) => generation).join();
    return { address: etcds, own: true, ca, cert, key };
  }

  /** Starts it where the host has one; it serves once a majority runs. */
  async resume(): Promise<void> {
    const noted = await readEtcdNote(this.#deps.stateDir);
    if (noted !== undefined) await this.#keepRunning(noted);
  }

  /** Starts an empty one that replicates from the others. */
  async join(noted: EtcdNote): Promise<void> {
    await this.#remove('etcd');
    await this.#note(noted);
    await this.#keepRunning(noted);
    this.#deps.log.info(`This member runs an etcd of the cluster now, at ${noted.clientAddress}`);
  }

  /** etcd reads its trusted authorities only at its start. */
  get trustsOthers(): boolean {
    return this.#trusted !== this.#written;
  }

  /** Starts it again after `stop`. A failed start is tried again by the next call of `renew`. */
  async startAgain(noted: EtcdNote): Promise<void> {
    await this.#keepRunning(noted).catch((error: unknown) => {
      this.#trusted = '';
      throw error;
    });
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  /** The others have removed it. */
  async drop(): Promise<void> {
    await this.#end('etcd.json', 'etcd');
    this.#deps.log.info('This member no longer runs an etcd of the cluster');
  }

  /** Stops it and deletes all files about the cluster's etcds. */
  async forget(): Promise<void> {
    await this.#end('etcd', 'etcd.json', 'tls');
  }

  async #end(...names: readonly string[]): Promise<void> {
    await this.#process?.stop();
    this.#process = undefined;
    await this.#remove(...names);
  }

  async #keepRunning(noted: EtcdNote): Promise<void> {
    this.#process = this.#newProcess();
    await this.#process.keepRunning(etcdStartOf(this.#deps.stateDir, noted));
  }

  #newProcess(): EtcdProcess {
    this.#trusted = this.#written;
    const { log, etcdPath } = this.#deps;
    return new EtcdProcess({ log, ...withoutUndefined({ etcdPath }) });
  }

  #dir(name: string): string {
    return join(clusterDir(this.#deps.stateDir), name);
  }

  async #remove(...names: readonly string[]): Promise<void> {
    for (const name of names) await rm(this.#dir(name), { recursive: true, force: true });
  }

  async #note(noted: EtcdNote): Promise<void> {
    await mkdir(clusterDir(this.#deps.stateDir), { recursive: true, mode: 0o700 });
    await writeDurably(etcdNotePath(this.#deps.stateDir), `${JSON.stringify(noted)}\n`, 0o600);
  }
}
