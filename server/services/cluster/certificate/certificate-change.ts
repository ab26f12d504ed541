// Gives all members of a cluster another certificate: the record says which, and each member takes it from there.
import type { ClusterCertificatePut } from '../../../api/cluster/cluster.ts';
import { errors } from '../../../api/errors.ts';
import { compareVersions } from '../../../api/text/compare-versions.ts';
import { checkPair, type ServerCertificate } from '../../../auth/server-certificate.ts';
import type { ServingCertificate } from '../../../auth/serving-certificate.ts';
import type { Cluster } from '../../../cluster/cluster.ts';
import { clusterCertificateFiles, keepClusterPair, readMembership } from '../../../cluster/membership.ts';
import type { EventHub } from '../../../events/hub.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { pause } from '../../../lib/shared/deadline.ts';
import type { Records } from '../../../records/records.ts';
import type { Caller } from '../../caller.ts';
import { judgePair } from './certificate-pair.ts';

export interface CertificateChangeDeps {
  readonly stateDir: string;
  readonly records: Records;
  readonly cluster: Pick<Cluster, 'isOn'>;
  readonly certificates: ServingCertificate;
  readonly events: EventHub;
  readonly clock: Clock;
  readonly log: Log;
  /** The release of this daemon. */
  readonly version: string;
}

/** Each member knows others by both certificates at once, and serves with the new one so much later, when the others know it, too. The one
 *  that was asked is the last: who has its answer meets the new certificate everywhere. */
const laterMs = { other: 1_000, asked: 1_500 };
/** So long others may still have the former one. */
const formerMs = 30_000;

export class CertificateChange {
  readonly #deps: CertificateChangeDeps;
  #taking: Promise<void> = Promise.resolve();
  /** Requests under way. */
  #asked = 0;
  readonly #closing = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(deps: CertificateChangeDeps) {
    this.#deps = deps;
  }

  /** When it resolves, the members that are there serve with it; others take it when they are back. Throws AppError badRequest. */
  async update(caller: Caller, body: ClusterCertificatePut): Promise<void> {
    const { cluster, clock, events } = this.#deps;
    if (!cluster.isOn)
      throw errors.notClustered(
        'This server is not part of a cluster: the certificate of a single one is server.crt and server.key of its state directory',
      );
    const judged = judgePair(body, new Date(clock.nowMs()));
    if ('problems' in judged) throw errors.invalid('cluster certificate', judged.problems);
    this.#asked += 1;
    try {
      await this.#write(judged.pair);
      await this.#take();
    } finally {
      this.#asked -= 1;
    }
    events.lifecycle('cluster-certificate-updated', '/1.0/cluster/certificate', undefined, caller.requestor);
  }

  /** The commit point: members that see it have another certificate, whatever becomes of this one. */
  async #write({ certPem, keyPem, fingerprint }: ServerCertificate): Promise<void> {
    const { records } = this.#deps;
    await records.retry((changes) => {
      this.#checkReleases();
      if (records.certificates.has(fingerprint))
        throw errors.invalid('cluster certificate', [
          { path: 'cluster_certificate', message: 'is that of a trusted client, which would count as a member' },
        ]);
      const current = records.cluster.get('config')?.document;
      if (current === undefined) throw errors.internal('The cluster has no description');
      changes.put('cluster', 'config', { ...current, certificate: { certPem, keyPem } });
      // They hold the fingerprint of the former one.
      for (const { name } of records.joinTokens.list()) changes.delete('joinTokens', name);
    });
  }

  /** The certificate of the cluster may be another one now. */
  look(): void {
    void this.#take();
  }

  close(): void {
    this.#closing.abort();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #checkReleases(): void {
    const { records, version } = this.#deps;
    const minVersion = records.cluster.get('config')?.document.minVersion ?? version;
    if (compareVersions(minVersion, version) < 0)
      throw errors.badRequest(
        `Members of the cluster run the release ${minVersion}, which may not know another certificate: upgrade all of them to ${version} first`,
      );
  }

  /** One after the other. Never throws. */
  #take(): Promise<void> {
    this.#taking = this.#takeAfter(this.#taking);
    return this.#taking;
  }

  async #takeAfter(former: Promise<void>): Promise<void> {
    await former;
    for (let next = this.#next(); next !== undefined; next = this.#next()) await this.#change(next);
  }

  /** That this member does not serve with yet. */
  #next(): ServerCertificate | undefined {
    const { records, certificates, cluster, stateDir, log } = this.#deps;
    const pair = records.cluster.get('config')?.document.certificate;
    if (!cluster.isOn || this.#closing.signal.aborted || pair === undefined) return undefined;
    if (pair.certPem === certificates.current.certPem) return undefined;
    const files = clusterCertificateFiles(stateDir);
    try {
      return checkPair(pair.certPem, pair.keyPem, files.cert, files.key);
    } catch (error) {
      log.error(`This member keeps the former certificate of the cluster: ${errorText(error)}`);
      return undefined;
    }
  }

  async #change(next: ServerCertificate): Promise<void> {
    const { certificates, cluster, log, stateDir } = this.#deps;
    const { current: former } = certificates;
    const known = certificates.allow(next);
    await pause(this.#asked > 0 ? laterMs.asked : laterMs.other, this.#closing.signal).catch(() => {});
    if (!this.#closing.signal.aborted && cluster.isOn) {
      this.#allowFormer(former);
      certificates.use(next);
      const isAuthority = (await readMembership(stateDir).catch(() => undefined))?.store.own === true;
      await keepClusterPair(stateDir, next, isAuthority).catch((error: unknown) =>
        log.error(`Writing the certificate of the cluster failed, the next start takes it anew: ${errorText(error)}`),
      );
      log.info(`This member serves with another certificate of the cluster now: ${next.fingerprint}`);
    }
    known();
  }

  #allowFormer(former: ServerCertificate): void {
    const end = this.#deps.certificates.allow(former);
    const timer = setTimeout(() => {
      end();
      this.#timers.delete(timer);
    }, formerMs);
    timer.unref();
    this.#timers.add(timer);
  }
}
