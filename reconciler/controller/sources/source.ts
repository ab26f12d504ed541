// The contract of a source: where the manifests of sets come from, and which revision of them is the newest.

import { printable } from '../../core/text/terminal-text.ts';

export type SourceKind = 'git' | 'directory' | 'archive' | 'oci' | 'bucket';

/** Who signed a revision; only revisions that were checked have one. */
export interface Verification {
  readonly by: 'gpg' | 'ssh' | 'digest' | 'cosign';
  /** Fingerprint of the key, or the digest. */
  readonly key: string;
  /** The name that the key or the list of allowed signers gives. */
  readonly signer?: string;
}

export interface SourceRevision {
  /** Git: the commit. Others: sha256:<hex> of the contents. */
  readonly revision: string;
  /** When it was made, RFC 3339: the date of the commit, else when it was first seen. */
  readonly at: string;
  /** The branch, tag or version that led to it, for people. */
  readonly reference?: string;
  readonly who?: string;
  /** First line of the commit message. */
  readonly message?: string;
  readonly verified?: Verification;
}

export interface Checkout {
  /** Absolute; holds the files of the revision below the `path` of the source. Only the source writes there. */
  readonly dir: string;
}

export interface Source {
  readonly name: string;
  readonly kind: SourceKind;
  /** For people: without user name, password and query. */
  readonly url: string;
  /** Fetches and checks the newest revision, within the limits. Rejects with a SourceError. */
  check(signal?: AbortSignal): Promise<SourceRevision>;
  /** The files of a revision that `check` or `resolve` returned, also after a restart. The same call twice gives the same folder. */
  checkout(revision: string, signal?: AbortSignal): Promise<Checkout>;
  /** The revision of another branch, tag or commit, for previews. Signatures are checked as in `check`. Git only. */
  resolve?(reference: string, signal?: AbortSignal): Promise<SourceRevision>;
  /** Names and mail addresses of the authors and signers of all commits since another revision. Git only. */
  authors?(revision: string, since: string | undefined, signal?: AbortSignal): Promise<readonly string[]>;
  /** Commits a change and pushes it. Git only. */
  push?(change: SourceChange, signal?: AbortSignal): Promise<SourceRevision>;
  /** Deletes all other checkouts. */
  keepOnly(revisions: ReadonlySet<string>): Promise<void>;
}

export interface SourceChange {
  /** The revision that was read; a push is refused as `conflict` if the branch has moved since. */
  readonly base: string;
  /** New contents by path below `path` of the source, with slashes. */
  readonly files: Readonly<Record<string, string>>;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  /** Another branch to create or reset to `base` plus the change; default: the branch of the source. */
  readonly branch?: string;
}

/**
 * unreachable: try again later. denied: credentials. not-found: no such branch, tag, path, file. unverified: signature or digest. refused:
 * contents or history break a rule. limit: too large, too slow. conflict: somebody else pushed. unavailable: a program or room on the disk
 * is missing here.
 */
export type SourceProblem =
  | 'unreachable'
  | 'denied'
  | 'not-found'
  | 'unverified'
  | 'refused'
  | 'limit'
  | 'conflict'
  | 'unavailable';

/** The message says what failed, why and what to do, without secrets. Foreign names and texts in it cannot reorder what stands beside it. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly problem: SourceProblem;

  constructor(problem: SourceProblem, message: string, options?: ErrorOptions) {
    super(printable(message), options);
    this.problem = problem;
  }
}

/** Errors by their problems, such as `sourceErrors.refused('it holds a link')`. */
export const sourceErrors = {
  unreachable: errorOf('unreachable'),
  denied: errorOf('denied'),
  notFound: errorOf('not-found'),
  unverified: errorOf('unverified'),
  refused: errorOf('refused'),
  limit: errorOf('limit'),
  conflict: errorOf('conflict'),
  unavailable: errorOf('unavailable'),
};

function errorOf(problem: SourceProblem) {
  return (message: string, options?: ErrorOptions): SourceError => new SourceError(problem, message, options);
}

/** The local copy of a repository is damaged and must be fetched again from scratch. */
export class DamagedCopyError extends SourceError {}
