// One-time tokens that add a certificate to the trust store. Each is a record, so that every member of a cluster takes it until it is used,
// expires or is withdrawn.
import { applyExpiry, parseExpiry } from '../../api/container/snapshot-expiry.ts';
import { errors } from '../../api/errors.ts';
import type { CertificateCreate } from '../../api/server/certificate.ts';
import type { Operation } from '../../api/operation.ts';
import type { Clock } from '../../lib/clock.ts';
import { randomSecret, secretHash } from '../../lib/secrets.ts';
import type { Operations } from '../../operations/manager.ts';
import { untilUsed } from '../../operations/token-life.ts';
import type { TrustTokenDocument } from '../../records/documents.ts';
import type { Changes, Entry, Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { settingOf } from '../shared/settings.ts';
import { restrictionOf, tokenRequest, type Grants } from './certificate-bodies.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface TrustTokensDeps {
  readonly records: Records;
  readonly operations: Pick<Operations, 'start'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** SHA-256 of the server's certificate, hexadecimal. */
  readonly serverFingerprint: () => string;
}

/** Max unused tokens; more are a program's mistake. */
const maxTokens = 1000;

export class TrustTokens {
  readonly #deps: TrustTokensDeps;

  constructor(deps: TrustTokensDeps) {
    this.#deps = deps;
  }

  /** An operation of class token whose metadata has the parts of the token; it runs until the token is used or withdrawn. `addresses`: where
   *  clients reach this server. */
  async make({ project }: Caller, body: CertificateCreate, addresses: readonly string[]): Promise<Operation> {
    const { clock, operations, records, serverFingerprint } = this.#deps;
    const request = tokenRequest(body);
    if (addresses.length === 0)
      throw errors.badRequest(
        'A token cannot be made: this server listens on no network address, where a client could use it; set core.https_address first',
      );
    const expiry = parseExpiry(settingOf(records, 'core.remote_token_expiry'));
    const expiresAt = expiry === undefined ? undefined : applyExpiry(expiry, new Date(clock.nowMs()));
    const secret = randomSecret();
    const name = secretHash(secret);
    const { member } = records;
    await records.retry((changes) => {
      if (records.trustTokens.size >= maxTokens)
        throw errors.badRequest('Too many tokens wait to be used: withdraw some of them first');
      const grants = restrictionOf(body, {}, (project) => records.projects.has(project));
      for (const each of grants.projects ?? grants.listed ?? []) changes.require('projects', each);
      changes.put('trustTokens', name, {
        v: 1,
        name: request.name,
        ...grants,
        ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
        ...withoutUndefined({ member }),
      });
    });
    const isThere = (): boolean => records.trustTokens.has(name);
    const token = {
      isThere,
      remove: () =>
        records.retry((changes) => {
          if (isThere()) changes.delete('trustTokens', name);
        }),
      ...(expiresAt === undefined ? {} : { expiresAtMs: expiresAt.getTime() }),
      problem: () =>
        records.member === member
          ? undefined
          : 'the server has formed, joined or left a cluster since: make a new token',
    };
    return operations.start({
      class: 'token',
      description: 'Adding a certificate by token',
      resources: {},
      project,
      metadata: {
        secret,
        fingerprint: serverFingerprint(),
        addresses,
        request,
        ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
      },
      mayCancel: true,
      endsWithDaemon: true,
      run: (_handle, signal) => untilUsed(token, clock, signal),
    });
  }

  /** The name that the certificate of the token's holder gets. Undefined: the token is not valid. */
  nameOf(secret: string): string | undefined {
    return this.#valid(secret)?.document.name;
  }

  /** Uses the token up in the transaction that adds the certificate. Undefined: the token is not valid any more. */
  spend(changes: Changes, secret: string): Grants | undefined {
    const { projects } = this.#deps.records;
    const token = this.#valid(secret);
    if (token === undefined) return undefined;
    changes.delete('trustTokens', token.name);
    // One that was deleted since the token was made must not count again when another one gets its name.
    const isSame = (name: string): boolean => (projects.get(name)?.createRev ?? Infinity) < (token.createRev ?? 0);
    const { document } = token;
    return {
      ...(document.projects === undefined ? {} : { projects: document.projects.filter(isSame) }),
      ...(document.listed === undefined ? {} : { listed: document.listed.filter(isSame) }),
    };
  }

  /** At daemon start: withdraws the tokens that this member made before it was killed. Their operations are gone, so nobody else could. */
  async withdrawLeft(): Promise<void> {
    const { records } = this.#deps;
    await records.retry((changes) => {
      for (const { name, document } of records.trustTokens.list())
        if (document.member === records.member || this.#hasExpired(document)) changes.delete('trustTokens', name);
    });
  }

  #valid(secret: string): Entry<TrustTokenDocument> | undefined {
    const token = this.#deps.records.trustTokens.get(secretHash(secret));
    return token === undefined || this.#hasExpired(token.document) ? undefined : token;
  }

  #hasExpired({ expiresAt }: TrustTokenDocument): boolean {
    return expiresAt !== undefined && this.#deps.clock.nowMs() >= Date.parse(expiresAt);
  }
}
