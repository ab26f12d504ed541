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

/** Work of another member for the user. */
interface Followed extends OperationClaim {
  readonly end: () => void;
}

export class UserOperations {
  readonly #deps: Deps;
  /** By operation; includes ended ones until the next check. */
  readonly #claimed = new Map<string, OperationClaim>();
  readonly #followed = new Set<Followed>();

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

  /** For an operation of another member, which does not know the user: `end` is called once this one no longer trusts the user with the
   *  project. Returns the function that stops following. */
  follow(subject: string, project: string, end: () => void): () => void {
    const followed = { subject, project, end };
    this.#followed.add(followed);
    return () => void this.#followed.delete(followed);
  }

  /** Call when the config has changed. */
  recheck(): void {
    this.#forget();
    for (const claimed of this.#claimed.values()) this.#judge(claimed);
    for (const followed of this.#followed) if (!this.#isTrusted(followed)) followed.end();
  }

  #judge(claimed: OperationClaim): void {
    if (!this.#isTrusted(claimed))
      this.#deps.operations.revoke(ownerOf(claimed), 'the user who started it is no longer trusted');
  }

  #isTrusted({ subject, project }: OperationClaim): boolean {
    const grant = this.#deps.grantOf(subject);
    return grant?.class === 'trusted' || (grant?.class === 'restricted' && grant.projects.includes(project));
  }

  #forget(): void {
    for (const id of this.#claimed.keys()) if (this.#deps.operations.about(id) === undefined) this.#claimed.delete(id);
  }
}

const forgetEvery = 1000;

/** Fingerprints contain no space. */
const ownerOf = ({ subject, project }: OperationClaim): string => `user ${project} ${subject}`;
