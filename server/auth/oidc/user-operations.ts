// Operations started by users with tokens: they end when the config no longer trusts their user. The expiry of a token ends none: its user
// logs in again.
import type { Operations } from '../../operations/manager.ts';
import type { Grant } from './settings.ts';

interface Deps {
  readonly operations: Pick<Operations, 'claim' | 'revoke' | 'about'>;
  /** By the current config. Undefined: nothing. */
  readonly grantOf: (subject: string) => Grant | undefined;
}

interface OperationClaim {
  readonly subject: string;
  readonly project: string;
}

export class UserOperations {
  readonly #deps: Deps;
  /** By operation; includes ended ones until the next check. */
  readonly #claimed = new Map<string, OperationClaim>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  claim(id: string, subject: string, project: string): void {
    const claimed = { subject, project };
    this.#deps.operations.claim(id, ownerOf(claimed));
    this.#claimed.set(id, claimed);
    if (this.#claimed.size % forgetEvery === 0) this.#forget();
    // The user may have lost the trust during the request.
    this.#judge(claimed);
  }

  /** Call when the config has changed. */
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

/** Fingerprints contain no space. */
const ownerOf = ({ subject, project }: OperationClaim): string => `user ${project} ${subject}`;
