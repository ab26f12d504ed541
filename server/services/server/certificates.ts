// Trusted client certificates: use cases of the API over the trust store.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Certificate, CertificateCreate, CertificatePut } from '../../api/server/certificate.ts';
import { errors } from '../../api/errors.ts';
import type { PasswordAttempts } from '../../auth/password-attempts.ts';
import { checkTrustPassword, planTrust } from '../../auth/trust.ts';
import type { EventHub } from '../../events/hub.ts';
import type { Log } from '../../lib/log.ts';
import type { CertificateDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import type { Caller } from '../caller.ts';
import { checkIfMatch, etagOf } from '../etag.ts';

export interface CertificatesDeps {
  readonly records: Records;
  readonly events: EventHub;
  readonly attempts: PasswordAttempts;
  readonly log: Log;
}

/** What the connection of the request tells. */
export interface TrustConnection {
  readonly peerCertificate?: Uint8Array;
  readonly remoteHost?: string;
}

export const certificateUrl = (fingerprint: string): string => `/1.0/certificates/${fingerprint}`;

export class Certificates {
  readonly #deps: CertificatesDeps;

  constructor(deps: CertificatesDeps) {
    this.#deps = deps;
  }

  isTrusted(fingerprint: string): boolean {
    return this.#deps.records.certificates.has(fingerprint);
  }

  names(): readonly string[] {
    return this.#deps.records.certificates.list().map((entry) => entry.name);
  }

  list(): readonly Certificate[] {
    return this.#deps.records.certificates.list().map(render);
  }

  get(prefix: string): { readonly object: Certificate; readonly etag: string } {
    const entry = this.#find(prefix);
    return { object: render(entry), etag: etagOf.certificate(entry.document) };
  }

  /** The password is checked before anything else is looked at. Returns the fingerprint. */
  async create(
    caller: Caller,
    body: CertificateCreate,
    connection: TrustConnection,
    signal: AbortSignal,
  ): Promise<string> {
    const stored = this.#deps.records.server.get('config')?.document.config['core.trust_password'];
    await checkTrustPassword(
      { class: caller.class, address: connection.remoteHost ?? '' },
      body.password,
      {
        attempts: this.#deps.attempts,
        stored,
        sleep: (ms, aborted) => sleep(ms, undefined, { signal: aborted }),
        onWrong: (address) =>
          this.#deps.log.warn(`A client at ${address} sent a wrong trust password; its certificate was not trusted`),
      },
      signal,
    );
    const entry = planTrust({ body, ...connection, isKnown: (fingerprint) => this.isTrusted(fingerprint) });
    await this.#deps.records.retry((changes) => {
      if (this.isTrusted(entry.fingerprint)) throw errors.exists('certificate', entry.fingerprint);
      changes.put('certificates', entry.fingerprint, {
        v: 1,
        type: entry.type,
        name: entry.name,
        pem: entry.certificate,
      });
    });
    this.#deps.events.lifecycle('certificate-created', certificateUrl(entry.fingerprint), undefined, caller.requestor);
    return entry.fingerprint;
  }

  put(caller: Caller, prefix: string, body: CertificatePut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, prefix, ifMatch, { type: body.type ?? '', name: body.name ?? '' });
  }

  patch(caller: Caller, prefix: string, body: CertificatePut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, prefix, ifMatch, body);
  }

  /** Returns the whole fingerprint. Ending what the certificate has opened is the caller's work. */
  async delete(caller: Caller, prefix: string): Promise<string> {
    const { name } = this.#find(prefix);
    await this.#deps.records.retry((changes) => {
      this.#find(name);
      changes.delete('certificates', name);
    });
    this.#deps.events.lifecycle('certificate-deleted', certificateUrl(name), undefined, caller.requestor);
    return name;
  }

  async #change(caller: Caller, prefix: string, ifMatch: string | undefined, body: CertificatePut): Promise<void> {
    const { name } = this.#find(prefix);
    if (body.type !== undefined && body.type !== 'client') {
      throw errors.invalid('certificate', [
        { path: 'type', message: `must be client, is ${JSON.stringify(body.type)}` },
      ]);
    }
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      checkIfMatch(ifMatch, etagOf.certificate(document), 'certificate', name);
      changes.put('certificates', name, { ...document, name: body.name ?? document.name });
    });
    this.#deps.events.lifecycle('certificate-updated', certificateUrl(name), undefined, caller.requestor);
  }

  #find(prefix: string): Entry<CertificateDocument> {
    const exact = this.#deps.records.certificates.get(prefix);
    if (exact !== undefined) return exact;
    const found =
      prefix === '' ? [] : this.#deps.records.certificates.list().filter((entry) => entry.name.startsWith(prefix));
    if (found.length > 1)
      throw errors.badRequest(`The fingerprint prefix ${prefix} fits ${found.length} certificates; give more of it`);
    const [entry] = found;
    if (entry === undefined) throw errors.notFound('certificate', prefix);
    return entry;
  }
}

function render({ name, document }: Entry<CertificateDocument>): Certificate {
  return { type: document.type, certificate: document.pem, name: document.name, fingerprint: name };
}
