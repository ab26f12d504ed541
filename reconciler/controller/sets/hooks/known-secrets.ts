// Remembers the guarded values of a set, so that what its hooks print is kept without them.
import { guardedTexts, withoutTexts } from '../../decide/withhold.ts';
import type { LoadedRevision } from '../load-revision.ts';

/** A hook before a change, or one that a newer revision overtakes, sees values of a former revision. */
const maxRevisions = 20;

export class KnownSecrets {
  /** One list a revision, the newest last. */
  readonly #revisions: (readonly string[])[] = [];
  /** All of them, the longest first, since a short value can be a part of a longer one. */
  #texts: readonly string[] = [];

  note({ hosts }: LoadedRevision): void {
    // Hosts share their documents.
    const documents = new Set([...hosts.values()].map(({ loaded }) => loaded.documents));
    const texts = guardedTexts([...documents].flat());
    const former = this.#revisions.findIndex((known) => known.join('\n') === texts.join('\n'));
    if (former >= 0) this.#revisions.splice(former, 1);
    this.#revisions.push(texts);
    if (this.#revisions.length > maxRevisions) this.#revisions.shift();
    this.#texts = [...new Set(this.#revisions.flat())].sort((one, other) => other.length - one.length);
  }

  /** The text without these values. */
  hide(text: string): string {
    return withoutTexts(text, this.#texts);
  }
}
