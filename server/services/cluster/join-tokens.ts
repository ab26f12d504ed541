// Tokens that let a host join the cluster: made, awaited until a host has used them, and withdrawn.
import { X509Certificate, hash } from 'node:crypto';
import { applyExpiry, parseExpiry } from '../../api/container/snapshot-expiry.ts';
import { errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { fingerprintOf } from '../../auth/identify.ts';
import { logFailure } from '../../lib/log.ts';
import { randomSecret } from '../../lib/secrets.ts';
import { settingOf } from '../shared/settings.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { checkMemberName } from './member-name.ts';

const dayMs = 24 * 60 * 60 * 1000;
const lookEveryMs = 250;

export const secretHash = (secret: string): string => hash('sha256', secret);

export class JoinTokens {
  readonly #deps: ClusterUseCaseDeps;

  constructor(deps: ClusterUseCaseDeps) {
    this.#deps = deps;
  }

  /** An operation of class token whose metadata has the parts of the token. */
  async make(name: string): Promise<Operation> {
    const { records, clock, operations, certificates, cluster } = this.#deps;
    if (!cluster.isOn) throw errors.notClustered('This server is not part of a cluster');
    checkMemberName(name);
    const expiry = parseExpiry(settingOf(records, 'cluster.join_token_expiry'));
    const now = new Date(clock.nowMs());
    const until = (expiry === undefined ? undefined : applyExpiry(expiry, now)) ?? new Date(now.getTime() + dayMs);
    const expiresAt = until.toISOString();
    const secret = randomSecret();
    // This member may still serve with the previous certificate.
    const of = this.#certificate;
    await records.retry((changes) => {
      if (records.members.has(name)) throw errors.exists('cluster member', name);
      changes.put('joinTokens', name, {
        v: 1,
        secretHash: secretHash(secret),
        expiresAt,
        member: cluster.members.here,
      });
    });
    return operations.start({
      class: 'token',
      description: 'Waiting for a host to join the cluster',
      resources: { cluster: [] },
      metadata: {
        serverName: name,
        secret,
        fingerprint: of === undefined ? certificates.current.fingerprint : fingerprintOf(new X509Certificate(of).raw),
        addresses: cluster.members
          .list()
          .filter(({ isPresent }) => isPresent)
          .map(({ address }) => address),
        expiresAt,
      },
      mayCancel: true,
      endsWithDaemon: true,
      run: (_handle, signal) => this.#used(name, secretHash(secret), Date.parse(expiresAt), signal),
    });
  }

  /** At daemon start: withdraws the tokens that this member made before it was killed. Their operations are gone, so nobody else could. */
  async withdrawLeft(): Promise<void> {
    const { records, clock, cluster } = this.#deps;
    if (!cluster.isOn) return;
    await records.retry((changes) => {
      for (const { name, document } of records.joinTokens.list()) {
        const isLeft = document.member === cluster.members.here || Date.parse(document.expiresAt) <= clock.nowMs();
        if (isLeft) changes.delete('joinTokens', name);
      }
    });
  }

  /** Resolves when a host has used the token; throws when it expires or is withdrawn, after removing it. */
  #used(name: string, hash: string, expiresAtMs: number, signal: AbortSignal): Promise<void> {
    const { records, clock } = this.#deps;
    const isThere = (): boolean => records.joinTokens.get(name)?.document.secretHash === hash;
    const remove = async (): Promise<void> => {
      await records.retry((changes) => {
        if (isThere()) changes.delete('joinTokens', name);
      });
    };
    const of = this.#certificate;
    const isUsed = new Promise<void>((resolve, reject) => {
      const end = (error?: Error): void => {
        clearInterval(timer);
        signal.removeEventListener('abort', withdrawn);
        if (error === undefined) resolve();
        else reject(error);
      };
      const withdrawn = (): void => end(new Error('the token was withdrawn'));
      const look = (): void => {
        if (this.#certificate !== of)
          end(
            new Error(
              'the certificate of the cluster has changed, and the token has the fingerprint of the former one: make a new token',
            ),
          );
        else if (!isThere()) end();
        else if (clock.nowMs() >= expiresAtMs) end(new Error('the token expired before it was used'));
      };
      const timer = setInterval(look, lookEveryMs);
      timer.unref();
      signal.addEventListener('abort', withdrawn, { once: true });
    });
    return isUsed.catch(async (error: unknown) => {
      await remove().catch(logFailure(this.#deps.log, `Removing the token of ${name}, which is no longer valid,`));
      throw error;
    });
  }

  /** PEM; undefined: still the first one. */
  get #certificate(): string | undefined {
    return this.#deps.records.cluster.get('config')?.document.certificate?.certPem;
  }
}
