// The objects of a set on one host with their statuses, as the last comparison left them.
import type { Document } from '../../../core/documents/document.ts';
import { buildGraph } from '../../../core/graph/graph.ts';
import { normalizeDocuments } from '../../../core/graph/normalize.ts';
import type { ObjectSummary } from '../../contract/index.ts';
import { changedObjects, objectsOf } from '../../decide/object-status.ts';

export class ObjectBoard {
  #objects: ReadonlyMap<string, ObjectSummary> = new Map();
  #needs: ReadonlyMap<string, readonly string[]> | undefined;

  get objects(): ReadonlyMap<string, ObjectSummary> {
    return this.#objects;
  }

  /** Called for new documents. */
  forgetNeeds(): void {
    this.#needs = undefined;
  }

  /** Returns the objects that have changed. */
  show(shown: Omit<Parameters<typeof objectsOf>[0], 'needs'>): ReturnType<typeof changedObjects> {
    this.#needs ??= needsOf(shown.documents);
    const before = this.#objects;
    this.#objects = objectsOf({ ...shown, needs: this.#needs });
    return changedObjects(before, this.#objects);
  }
}

const needsOf = (documents: readonly Document[]): ReadonlyMap<string, readonly string[]> =>
  buildGraph(normalizeDocuments(documents).objects, undefined).needs;
