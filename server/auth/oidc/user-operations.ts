// Operations that users with tokens started: they end when the config trusts their user no more. The end of a token ends none: its
// user logs in again.
import type { Operations } from '../../operations/manager.ts';
import type { Grant } from './settings.ts';

interface Deps {
  readonly operations: Pick<Operations, 'claim' | 'revoke' | 'about'>;
  /** As the config is now. Undefined: nothing. */
  readonly grantOf: (subject: string) => Grant | undefined;
}

interface OperationClaim {
  readonly subject: string;
  readonly project: string;
}

export class UserOperations {
  readonly #deps: Deps;
  /** By operation; of ended ones until the next look. */
  readonly #claimed = new Map<string, OperationClaim>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  claim(id: string, subject: string, project: string): void {
    const claimed = { subject, project };
    this.#deps.operations.claim(id, ownerOf(claimed));
    this.#claimed.set(id, claimed);
    if (this.#claimed.size % forgetEvery === 0) this.#forget();
    // The trust may have ended while the request was under way.
    this.#judge(claimed);
  }

  /** The config has changed. */
  recheck(): void {
    this.#forget();
    for (const claimed of this.#claimed.values()) this.#judge(claimed);
  }

  #judge(claimed: OperationClaim): void {
    const grant = this.#deps.grantOf(claimed.subject);
    const isTrusted =
      grant?.class === 'trusted' || (grant?.class === 'restricted' && grant.projects.includes(claimed.project));
    if (!isTrusted) this.#deps.operations.revoke(ownerOf(claimed), 'the user who started it is no longer trusted');
  }

  #forget(): void {
    for (const id of this.#claimed.keys()) if (this.#deps.operations.about(id) === undefined) this.#claimed.delete(id);
  }
}

const forgetEvery = 1000;

/** No fingerprint of a certificate has a space in it. */
const ownerOf = ({ subject, project }: OperationClaim): string => `user ${project} ${subject}`;
