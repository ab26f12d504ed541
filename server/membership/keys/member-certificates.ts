// By which certificates the members of the cluster are known, as their records say.
import type { Records } from '../../records/records.ts';
import { fingerprintOfPem } from './identity.ts';

interface MemberFingerprints {
  readonly generation: number;
  readonly fingerprints: ReadonlySet<string>;
  /** An older release wrote the record of one: until it is upgraded, the certificate that all share is that of a member, too. */
  readonly isSharedGood: boolean;
}

export class MemberCertificates {
  readonly #records: Pick<Records, 'members'>;
  #known: MemberFingerprints | undefined;

  constructor(records: Pick<Records, 'members'>) {
    this.#records = records;
  }

  get fingerprints(): ReadonlySet<string> {
    return this.#now().fingerprints;
  }

  get isSharedGood(): boolean {
    return this.#now().isSharedGood;
  }

  /** PEM; undefined for a member of an older release, and for a name that no member has. */
  of(name: string): string | undefined {
    return this.#records.members.get(name)?.document.certificate;
  }

  #now(): MemberFingerprints {
    const { generation } = this.#records.members;
    if (this.#known?.generation !== generation) {
      const all = this.#records.members.list().map(({ document }) => document.certificate);
      const fingerprints = all.map((pem) => (pem === undefined ? undefined : fingerprintOfPem(pem)));
      this.#known = {
        generation,
        fingerprints: new Set(fingerprints.filter((each) => each !== undefined)),
        isSharedGood: fingerprints.includes(undefined),
      };
    }
    return this.#known;
  }
}
