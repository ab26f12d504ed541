// Trusted client certificates: use cases of the API over the trust store.
import type { ServiceParts } from '../shared/service-parts.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeTrustToken } from '../../api/server/trust-token.ts';
import type { Certificate, CertificateCreate, CertificatePut } from '../../api/server/certificate.ts';
import { errors } from '../../api/errors.ts';
import type { Attempts } from '../../lib/shared/attempts.ts';
import {
  checkTrustPassword,
  parseCertificate,
  planTrust,
  waitForTurn,
  type ParsedCertificate,
  type TrustEntry,
} from '../../auth/trust.ts';
import type { CertificateDocument } from '../../records/documents.ts';
import type { Changes, Entry } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { checkType, isNarrowed, restrictionOf, type Grants, type Restriction } from './certificate-bodies.ts';
import type { TrustTokens } from './trust-tokens.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface CertificatesDeps extends Pick<ServiceParts, 'records' | 'events' | 'log'> {
  readonly attempts: Attempts;
  readonly tokens: TrustTokens;
}

/** Facts about the request's connection. */
export interface TrustConnection {
  readonly peerCertificate?: Uint8Array;
  readonly remoteHost?: string;
}

const sleepMs = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal });

export const certificateUrl = (fingerprint: string): string => `/1.0/certificates/${fingerprint}`;

export class Certificates {
  readonly #deps: CertificatesDeps;

  constructor(deps: CertificatesDeps) {
    this.#deps = deps;
  }

  /** For all projects, or for those of `projectsOf`. */
  isTrusted(fingerprint: string): boolean {
    const entry = this.#deps.records.certificates.get(fingerprint);
    return entry !== undefined && entry.document.type !== 'metrics';
  }

  /** Its client may only read metrics. */
  isForMetrics(fingerprint: string): boolean {
    return this.#deps.records.certificates.get(fingerprint)?.document.type === 'metrics';
  }

  #isKnown(fingerprint: string): boolean {
    return this.#deps.records.certificates.has(fingerprint);
  }

  /** Undefined: all, and the server itself. */
  projectsOf(fingerprint: string): readonly string[] | undefined {
    return this.#deps.records.certificates.get(fingerprint)?.document.projects;
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

  /** Checks password or token before anything else. Returns the fingerprint. */
  async create(
    caller: Caller,
    body: CertificateCreate,
    connection: TrustConnection,
    signal: AbortSignal,
  ): Promise<string> {
    const token = caller.class === 'trusted' ? undefined : decodeTrustToken(body.password ?? '');
    if (token !== undefined) return this.#createByToken(caller, token.secret, body, connection, signal);
    const { attempts, log, records } = this.#deps;
    const stored = records.server.get('config')?.document.config['core.trust_password'];
    await checkTrustPassword(
      { class: caller.class, address: connection.remoteHost ?? '' },
      body.password,
      {
        attempts,
        stored,
        sleep: sleepMs,
        onWrong: (address) =>
          log.warn(`A client at ${address} sent a wrong trust password; its certificate was not trusted`),
      },
      signal,
    );
    const isKnown = (fingerprint: string) => this.#isKnown(fingerprint);
    // Only a trusted caller may choose the certificate's projects.
    const grants = (): Grants => (caller.class === 'trusted' ? this.#restriction(body, {}) : {});
    return this.#add(caller, planTrust({ body, ...connection, isKnown }), grants);
  }

  /** The certificate is the connection's, which proves that the client has its key. */
  async #createByToken(
    caller: Caller,
    secret: string,
    { certificate = '' }: CertificateCreate,
    { peerCertificate, remoteHost = '' }: TrustConnection,
    signal: AbortSignal,
  ): Promise<string> {
    const { attempts, tokens, log } = this.#deps;
    await waitForTurn(remoteHost, { attempts, sleep: sleepMs }, signal);
    const refusal = (): Error => {
      log.warn(`A client at ${remoteHost} sent an invalid token; its certificate was not trusted`);
      return errors.forbidden(
        'Trusting a certificate failed: the token is not valid: it was used, has expired or was withdrawn, or the server that made it was restarted since',
      );
    };
    const name = tokens.nameOf(secret);
    if (name === undefined) throw refusal();
    const isKnown = (fingerprint: string) => this.#isKnown(fingerprint);
    const body = { type: 'client', name };
    const entry = planTrust({ body, ...withoutUndefined({ peerCertificate }), isKnown });
    if (certificate !== '' && parseCertificate(certificate)?.fingerprint !== entry.fingerprint) {
      const message = 'must be that of the connection, or absent, when a token adds it';
      throw errors.invalid('certificate', [{ path: 'certificate', message }]);
    }
    const added = await this.#add(caller, entry, (changes) => {
      const grant = tokens.spend(changes, secret);
      if (grant === undefined) throw refusal();
      return grant;
    });
    attempts.succeeded(remoteHost);
    log.info(`A client at ${remoteHost} used a token; its certificate ${added.slice(0, 12)} is trusted now`);
    return added;
  }

  async #add(caller: Caller, entry: TrustEntry, grantOf: (changes: Changes) => Grants): Promise<string> {
    const { type, name, certificate: pem, fingerprint } = entry;
    const { records } = this.#deps;
    await records.retry((changes) => {
      if (this.#isKnown(fingerprint)) throw errors.exists('certificate', fingerprint);
      const grants = grantOf(changes);
      for (const project of grants.projects ?? grants.listed ?? []) changes.require('projects', project);
      changes.put('certificates', fingerprint, { v: 1, type, name, pem, ...grants });
    });
    this.#deps.events.lifecycle('certificate-created', certificateUrl(fingerprint), caller);
    return fingerprint;
  }

  /** Returns the full fingerprint if its client lost access: the caller then closes what it has open. */
  put(caller: Caller, prefix: string, body: CertificatePut, ifMatch: string | undefined): Promise<string | undefined> {
    return this.#change(caller, prefix, ifMatch, { ...body, type: body.type ?? '', name: body.name ?? '' });
  }

  patch(
    caller: Caller,
    prefix: string,
    body: CertificatePut,
    ifMatch: string | undefined,
  ): Promise<string | undefined> {
    return this.#change(caller, prefix, ifMatch, body);
  }

  /** Returns the full fingerprint: the caller closes what the client has open. */
  async delete(caller: Caller, prefix: string): Promise<string> {
    const { name } = this.#find(prefix);
    await this.#deps.records.retry((changes) => {
      this.#find(name);
      changes.delete('certificates', name);
    });
    this.#deps.events.lifecycle('certificate-deleted', certificateUrl(name), caller);
    return name;
  }

  async #change(
    caller: Caller,
    prefix: string,
    ifMatch: string | undefined,
    body: CertificatePut,
  ): Promise<string | undefined> {
    const { name } = this.#find(prefix);
    const next = certificateIn(body) ?? { fingerprint: name };
    const isNarrower = await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      checkType(document.type, body.type);
      checkIfMatch(ifMatch, etagOf.certificate(document), 'certificate', name);
      const { projects, listed: _listed, ...rest } = document;
      const pem = 'pem' in next ? next.pem : document.pem;
      const wanted = { ...rest, pem, name: body.name ?? document.name, ...this.#restriction(body, document) };
      if (next.fingerprint !== name) {
        if (this.#isKnown(next.fingerprint)) throw errors.exists('certificate', next.fingerprint);
        changes.delete('certificates', name);
      }
      changes.put('certificates', next.fingerprint, wanted);
      return next.fingerprint !== name || isNarrowed(projects, wanted.projects);
    });
    this.#deps.events.lifecycle('certificate-updated', certificateUrl(next.fingerprint), caller);
    return isNarrower ? name : undefined;
  }

  #restriction(body: Restriction, before: Grants): Grants {
    return restrictionOf(body, before, (project) => this.#deps.records.projects.has(project));
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

/** The replacement certificate; undefined: none was sent. Throws AppError badRequest. */
function certificateIn({ certificate = '' }: CertificatePut): ParsedCertificate | undefined {
  if (certificate.trim() === '') return undefined;
  const parsed = parseCertificate(certificate);
  if (parsed !== undefined) return parsed;
  const message = 'must be one x509 certificate, as PEM or as base64 of its DER';
  throw errors.invalid('certificate', [{ path: 'certificate', message }]);
}

function render({ name, document }: Entry<CertificateDocument>): Certificate {
  return {
    type: document.type,
    certificate: document.pem,
    name: document.name,
    fingerprint: name,
    restricted: document.projects !== undefined,
    projects: [...(document.projects ?? document.listed ?? [])],
  };
}
