// Names of the certificates that a server trusts, so that what it says of a fingerprint can be said of a name. Read once, and kept.
import type { Client } from '../../../server/client/client.ts';
import { nameSeen, type CertificateNames, type Seen } from '../../core/drift/lifecycle-changes.ts';

const none: CertificateNames = new Map();

export class CertificateBook {
  readonly #list: Client['list'];
  #names: Promise<CertificateNames> | undefined;

  constructor(list: Client['list']) {
    this.#list = list;
  }

  /** Never rejects: without the right to see the list, or without an answer, nobody has a name. */
  names(signal?: AbortSignal): Promise<CertificateNames> {
    this.#names ??= this.#list('certificate', signal).then(
      (found) => new Map(found.map(({ fingerprint, name }) => [fingerprint, name])),
      () => none,
    );
    return this.#names;
  }

  /** Reads the list only when a certificate did something, and anew when certificates came, went or were renamed. */
  async name(seen: readonly Seen[], signal?: AbortSignal): Promise<readonly Seen[]> {
    if (seen.some(({ address }) => address.startsWith('certificate/'))) this.forget();
    if (seen.every(({ certificate }) => certificate === undefined)) return seen;
    const names = await this.names(signal);
    return seen.map((one) => nameSeen(one, names));
  }

  forget(): void {
    this.#names = undefined;
  }
}
