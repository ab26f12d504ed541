// Maps fingerprints of trusted certificates to their names, for messages about who made a change. Reads the list once and caches it.
import type { Client } from '../../../server/client/client.ts';
import { nameSeen, type CertificateNames, type LifecycleChange } from '../../core/drift/lifecycle-changes.ts';

const none: CertificateNames = new Map();

export class CertificateBook {
  readonly #list: Client['list'];
  #names: Promise<CertificateNames> | undefined;

  constructor(list: Client['list']) {
    this.#list = list;
  }

  /** Never rejects: returns no names without permission or without an answer. */
  names(signal?: AbortSignal): Promise<CertificateNames> {
    this.#names ??= this.#list('certificate', signal).then(
      (found) => new Map(found.map(({ fingerprint, name }) => [fingerprint, name])),
      () => none,
    );
    return this.#names;
  }

  /** Reads the list only for events of a certificate, and again after certificates are added, removed or renamed. */
  async name(seen: readonly LifecycleChange[], signal?: AbortSignal): Promise<readonly LifecycleChange[]> {
    if (seen.some(({ address }) => address.startsWith('certificate/'))) this.forget();
    if (seen.every(({ certificate }) => certificate === undefined)) return seen;
    const names = await this.names(signal);
    return seen.map((one) => nameSeen(one, names));
  }

  forget(): void {
    this.#names = undefined;
  }
}
