// Member certificates by name, from the members' records.
import type { Records } from '../../records/records.ts';
import { fingerprintOfPem } from './identity.ts';

export class MemberCertificates {
  readonly #records: Pick<Records, 'members'>;
  #known: { readonly generation: number; readonly fingerprints: ReadonlySet<string> } | undefined;

  constructor(records: Pick<Records, 'members'>) {
    this.#records = records;
  }

  get fingerprints(): ReadonlySet<string> {
    const { generation } = this.#records.members;
    if (this.#known?.generation !== generation) {
      const all = this.#records.members.list().map(({ document }) => fingerprintOfPem(document.certificate));
      this.#known = { generation, fingerprints: new Set(all.filter((each) => each !== undefined)) };
    }
    return this.#known.fingerprints;
  }

  /** PEM; undefined for a name without a member. */
  of(name: string): string | undefined {
    return this.#records.members.get(name)?.document.certificate;
  }
}
