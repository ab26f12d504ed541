// Replaces the certificate of all members of a cluster: the record has the new one, and each member takes it from there.
import type { ServiceParts } from '../../shared/service-parts.ts';
import type { ClusterCertificatePut } from '../../../api/cluster/cluster.ts';
import { errors } from '../../../api/errors.ts';
import { compareVersions } from '../../../api/text/compare-versions.ts';
import { checkPair, type ServerCertificate } from '../../../auth/server-certificate.ts';
import type { ServingCertificate } from '../../../auth/serving-certificate.ts';
import type { Cluster } from '../../../membership/cluster.ts';
import type { Members } from '../../../membership/members.ts';
import { clusterCertificateFiles, keepClusterPair } from '../../../membership/membership.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { pause } from '../../../lib/shared/deadline.ts';
import type { Caller } from '../../shared/caller.ts';
import { judgePair } from './certificate-pair.ts';

export interface CertificateChangeDeps extends Pick<ServiceParts, 'records' | 'events' | 'clock' | 'log'> {
  readonly stateDir: string;
  readonly cluster: Pick<Cluster, 'isOn' | 'publish'> & { readonly members: Pick<Members, 'reachable'> };
  readonly certificates: ServingCertificate;
  /** A monotonic clock. */
  readonly nowMs: () => number;
  /** The release of this daemon. */
  readonly version: string;
}

/** How long a request waits for the present members to serve the new certificate. */
const answerMs = 10_000;
const lookEveryMs = 50;

export class CertificateChange {
  readonly #deps: CertificateChangeDeps;
  #taking: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();
  #problem: string | undefined;

  constructor(deps: CertificateChangeDeps) {
    this.#deps = deps;
  }

  /** Resolves when the present members serve it; absent ones take it on their return. Throws AppError badRequest. */
  async update(caller: Caller, body: ClusterCertificatePut): Promise<void> {
    const { cluster, clock, events } = this.#deps;
    if (!cluster.isOn)
      throw errors.notClustered(
        'This server is not part of a cluster: the certificate of a single one is server.crt and server.key of its state directory',
      );
    const judged = judgePair(body, new Date(clock.nowMs()));
    if ('problems' in judged) throw errors.invalid('cluster certificate', judged.problems);
    const { pair } = judged;
    await this.#write(pair);
    await this.#take();
    await this.#allServe(pair);
    events.lifecycle('cluster-certificate-updated', '/1.0/cluster/certificate', caller);
  }

  /** The commit point: members that see it switch, whatever happens to this one. */
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
      // They contain the previous fingerprint.
      for (const { name } of records.joinTokens.list()) changes.delete('joinTokens', name);
    });
  }

  /** Why this member does not serve the cluster's certificate; undefined: it does, or soon will. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Call when the cluster's certificate may have changed. */
  look(): void {
    void this.#take();
  }

  close(): void {
    this.#closing.abort();
  }

  #checkReleases(): void {
    const { records, version } = this.#deps;
    const minVersion = records.cluster.get('config')?.document.minVersion ?? version;
    if (compareVersions(minVersion, version) < 0)
      throw errors.badRequest(
        `Members of the cluster run the release ${minVersion}, which may not know another certificate: upgrade all of them to ${version} first`,
      );
  }

  /** One at a time. Never throws. */
  #take(): Promise<void> {
    this.#taking = this.#takeAfter(this.#taking);
    return this.#taking;
  }

  async #takeAfter(former: Promise<void>): Promise<void> {
    await former;
    for (let next = this.#next(); next !== undefined; next = this.#next()) await this.#change(next);
  }

  /** The certificate that this member has yet to serve. */
  #next(): ServerCertificate | undefined {
    const { records, certificates, cluster, stateDir, log } = this.#deps;
    const pair = records.cluster.get('config')?.document.certificate;
    if (!cluster.isOn || this.#closing.signal.aborted || pair === undefined) return undefined;
    this.#problem = undefined;
    if (pair.certPem === certificates.current.certPem) return undefined;
    const files = clusterCertificateFiles(stateDir);
    try {
      return checkPair(pair.certPem, pair.keyPem, files.cert, files.key);
    } catch (error) {
      this.#problem = `This member keeps the former certificate of the cluster: ${errorText(error)}`;
      log.error(this.#problem);
      return undefined;
    }
  }

  /** Members authenticate with certificates of their own, so requests between them are unaffected. */
  async #change(next: ServerCertificate): Promise<void> {
    const { certificates, cluster, log, stateDir } = this.#deps;
    certificates.use(next);
    await cluster.publish();
    await keepClusterPair(stateDir, next).catch((error: unknown) =>
      log.error(`Writing the certificate of the cluster failed, the next start retries: ${errorText(error)}`),
    );
    log.info(`This member serves with another certificate of the cluster now: ${next.fingerprint}`);
  }

  /** Resolves when every other present member serves it, has run out of time, or another request has superseded this one. */
  async #allServe({ certPem, fingerprint }: ServerCertificate): Promise<void> {
    const { cluster, log, nowMs, records } = this.#deps;
    const { signal } = this.#closing;
    const untilMs = nowMs() + answerMs;
    const isOver = (): boolean =>
      signal.aborted || records.cluster.get('config')?.document.certificate?.certPem !== certPem;
    const silent = (): readonly string[] =>
      cluster.members
        .reachable()
        .filter(({ present }) => present?.certificate !== fingerprint)
        .map(({ name }) => name);
    while (silent().length > 0 && nowMs() < untilMs && !isOver()) await pause(lookEveryMs, signal).catch(() => {});
    if (silent().length > 0 && !isOver())
      log.warn(
        `The certificate of the cluster changes, and ${silent().join(', ')} did not say in ${answerMs / 1000} s that it serves with it`,
      );
  }
}
