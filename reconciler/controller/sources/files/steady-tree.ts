// Copies a tree that others change meanwhile: a copy counts only if the tree was the same before and after it.
import { type SourceRevision, sourceErrors } from '../source.ts';
import type { Checkouts } from './checkouts.ts';

/** What is there has changed since it was listed. */
export class ChangedError extends Error {
  override readonly name = 'ChangedError';
}

export interface SteadyTree<T> {
  /** Names the tree in messages. */
  readonly what: string;
  readonly checkouts: Checkouts;
  readonly now: () => string;
  /** Equal texts: the tree is the same. */
  readonly marksOf: (found: readonly T[]) => string;
}

export interface Reading<T> {
  readonly list: () => Promise<readonly T[]>;
  /** Copies to a folder and returns the revision. May throw ChangedError. */
  readonly copy: (found: readonly T[], dir: string) => Promise<string>;
}

const attempts = 3;

export class SteadyReader<T> {
  readonly #tree: SteadyTree<T>;
  #last: { readonly marks: string; readonly revision: SourceRevision } | undefined;

  constructor(tree: SteadyTree<T>) {
    this.#tree = tree;
  }

  /** The revision that is there now, with its files in a checkout. */
  async read({ list, copy }: Reading<T>): Promise<SourceRevision> {
    const { what, checkouts, now, marksOf } = this.#tree;
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const found = await list();
      const marks = marksOf(found);
      const last = this.#last;
      if (last?.marks === marks && (await checkouts.find(last.revision.revision)) !== undefined) return last.revision;
      const made = await checkouts.makeNamed((dir) => copy(found, dir)).catch(ifChanged);
      // If files changed during the copy, it may mix two states.
      if (made === undefined || marksOf(await list()) !== marks) continue;
      const { revision } = made;
      const at = last?.revision.revision === revision ? last.revision.at : now();
      this.#last = { marks, revision: { revision, at } };
      return this.#last.revision;
    }
    throw sourceErrors.unreachable(`${what} changes while it is read; it is read again at the next check`);
  }
}

function ifChanged(error: unknown): undefined {
  if (!(error instanceof ChangedError)) throw error;
}
