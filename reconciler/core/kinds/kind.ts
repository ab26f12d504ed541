// What the reconciler must know of a kind beyond its schema. One file a kind beside this one, one row each in index.ts.
import type { Effect } from '../../../server/api/schema/field.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Problem } from '../../../server/api/problem.ts';
import type { Change } from '../documents/change.ts';
import type { Document, Json, JsonObject } from '../documents/document.ts';
import { tableOf, type Live, type Observed } from '../documents/observed.ts';

export interface Reference {
  readonly kind: KindName;
  readonly name: string;
  /** Where it is written. */
  readonly path: string;
  /** `warning`: things outside the API, such as a host interface, may satisfy it. */
  readonly severity: 'error' | 'warning';
}

/** How a field is compared. `map`: key by key; `devices`: map of maps; `list`: as a whole; `scalar`: text or boolean; `files`: entries inside; `members`: a map for each member of the cluster. */
export type FieldShape = 'map' | 'devices' | 'list' | 'scalar' | 'files' | 'members';

export interface CoreKind {
  /** Compared and written; anything else in a document only counts at creation. */
  readonly fields: Readonly<Record<string, FieldShape>>;
  /** Members of a PUT body: all of them are sent, changed or not. */
  readonly putFields: readonly string[];
  readonly live: (observed: Observed, name: string) => Live<object> | undefined;
  /** Names of the live world, for hints and references. */
  readonly liveNames: (observed: Observed) => Iterable<string>;
  /** Name in the API: differs from the document's only for images. */
  readonly apiName: (document: Document) => string;
  readonly references: (document: Document) => readonly Reference[];
  /** The same of a live object. */
  readonly liveReferences?: (live: JsonObject) => readonly Pick<Reference, 'kind' | 'name'>[];
  /** Maps that the server gives something of, and that in exact mode are nevertheless what a document says of them. */
  readonly wholeFields?: readonly string[];
  /** Server-made keys: not listed as unmanaged, not carried over. `live`: the object as `live` gives it, where that matters. */
  readonly isComputed: (segments: readonly string[], live?: JsonObject) => boolean;
  /** Accepted at creation and rewritten by the server after: compared by `isAsCreated`, and owned by no set. */
  readonly isProvenance?: (segments: readonly string[]) => boolean;
  /** Whether the live object was made with this value of a key that is provenance; of nothing live it was not. */
  readonly isAsCreated?: (segments: readonly string[], live: JsonObject, wanted: string) => boolean;
  /** Why a person should look twice before the object is made. */
  readonly warnsAtCreation?: (values: JsonObject) => readonly string[];
  /** Fields that the server chooses where they are empty, so that empty says nothing. */
  readonly chosen?: readonly string[];
  /** Keys that the server fills in again where they are absent: null is fulfilled by whatever is there. */
  readonly refills?: (segments: readonly string[], live: JsonObject) => boolean;
  /** True when the live value fulfils the desired one although the texts differ (`auto`). */
  readonly fulfils?: (key: string, live: string | undefined, desired: string) => boolean;
  /** What a change costs the object itself. */
  readonly effectOf: (segments: readonly string[], live: JsonObject, after: Json | undefined) => Effect;
  /** Config and device rules that a schema cannot say. Paths are relative to the document. */
  readonly validate: (values: JsonObject, name: string) => readonly Problem[];
  /** What fields are when nobody writes them, so that a dropped one goes back to it. Fields without one are left as they are. */
  readonly blanks?: Readonly<Record<string, Json>>;
  /** Deleting it loses what cannot be made again from documents. */
  readonly holdsData?: boolean;
  /** Why the server would refuse these changes of the object as it is; undefined: it would not. */
  readonly stuck?: (
    name: string,
    live: JsonObject,
    changes: readonly Change[],
  ) => { readonly message: string; readonly remedy: string } | undefined;
  /** Never deleted by the server: destroying means taking back what the document wrote. */
  readonly isPermanent?: (name: string) => boolean;
}

type WithDefault = 'live' | 'liveNames' | 'apiName' | 'references' | 'isComputed' | 'effectOf' | 'validate';

/** Completes what a kind says of itself: it refers to nothing, all of its fields change live, unless it says otherwise. */
export const defineKind = (kind: KindName, rules: Omit<CoreKind, WithDefault> & Partial<CoreKind>): CoreKind => ({
  live: (observed, name) => tableOf(observed, kind).get(name),
  liveNames: (observed) => tableOf(observed, kind).keys(),
  apiName: (document) => document.name,
  references: () => [],
  isComputed: () => false,
  effectOf: () => 'live',
  validate: () => [],
  ...rules,
});
