// Tokens that let a host join the cluster: made, awaited until a host has used them, and withdrawn.
import { X509Certificate } from 'node:crypto';
import { applyExpiry, parseExpiry } from '../../api/container/snapshot-expiry.ts';
import { errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { fingerprintOf } from '../../auth/identify.ts';
import { randomSecret, secretHash } from '../../lib/secrets.ts';
import { untilUsed, type TokenRecord } from '../../operations/token-life.ts';
import { settingOf } from '../shared/settings.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { checkMemberName } from './member-name.ts';

const dayMs = 24 * 60 * 60 * 1000;

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
    const isThere = (): boolean => records.joinTokens.get(name)?.document.secretHash === secretHash(secret);
    const token: TokenRecord = {
      isThere,
      remove: () =>
        records.retry((changes) => {
          if (isThere()) changes.delete('joinTokens', name);
        }),
      expiresAtMs: until.getTime(),
      problem: () =>
        this.#certificate === of
          ? undefined
          : 'the certificate of the cluster has changed, and the token has the fingerprint of the former one: make a new token',
    };
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
      run: (_handle, signal) => untilUsed(token, clock, signal),
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

  /** PEM; undefined: still the first one. */
  get #certificate(): string | undefined {
    return this.#deps.records.cluster.get('config')?.document.certificate?.certPem;
  }
}
