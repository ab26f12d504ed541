// The facts of a kind that the reconciler needs beyond its schema. Each kind has a file in this folder and a row in index.ts.
import type { Effect } from '../../../server/api/schema/field.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Problem } from '../../../server/api/problem.ts';
import type { Change } from '../documents/change.ts';
import type { Document, Json, JsonObject } from '../documents/document.ts';
import { tableOf, type Live, type Observed } from '../documents/observed.ts';

export interface Reference {
  readonly kind: KindName;
  readonly name: string;
  /** Default: that of the document. */
  readonly project?: string;
  /** Where it is written. */
  readonly path: string;
  /** `warning`: things outside the API, such as a host interface, may satisfy it. */
  readonly severity: 'error' | 'warning';
}

/** How a field is compared. `map`: key by key; `devices`: map of maps; `list`: as a whole; `scalar`: text or boolean; `files`: entries inside; `members`: a map for each member of the cluster. */
export type FieldShape = 'map' | 'devices' | 'list' | 'scalar' | 'files' | 'members';

export interface CoreKind {
  /** Compared and written; other members of a document apply at creation only. */
  readonly fields: Readonly<Record<string, FieldShape>>;
  /** Members of a PUT body. All of them are sent, changed or not. */
  readonly putFields: readonly string[];
  readonly live: (observed: Observed, name: string) => Live<object> | undefined;
  /** Names of the live objects, for hints and references. */
  readonly liveNames: (observed: Observed) => Iterable<string>;
  /** Name in the API: differs from the document's only for images. */
  readonly apiName: (document: Document) => string;
  readonly references: (document: Document) => readonly Reference[];
  readonly liveReferences?: (live: JsonObject) => readonly Pick<Reference, 'kind' | 'name'>[];
  /** Maps to which the server adds keys. In exact mode the document still decides all of their keys. */
  readonly wholeFields?: readonly string[];
  /** True of keys that the server sets: not listed as unmanaged, not carried over. `live`: the live object, if it matters. */
  readonly isComputed: (segments: readonly string[], live?: JsonObject) => boolean;
  /** True of keys that the server accepts at creation and rewrites afterwards: `isAsCreated` compares them, and no set owns them. */
  readonly isProvenance?: (segments: readonly string[]) => boolean;
  /** Whether the live object was created with this value of a provenance key. False when no object is live. */
  readonly isAsCreated?: (segments: readonly string[], live: JsonObject, wanted: string) => boolean;
  /** Warnings to show before the object is created. */
  readonly warnsAtCreation?: (values: JsonObject) => readonly string[];
  /** Lists without a meaningful order, which servers may change. */
  readonly unordered?: readonly string[];
  /** Fields that the server chooses when they are empty, so an empty value declares nothing. */
  readonly chosen?: readonly string[];
  /** Keys that the server fills in again when they are absent: any live value fulfils null. */
  readonly refills?: (segments: readonly string[], live: JsonObject) => boolean;
  /** True when the live value fulfils the desired one although the texts differ (`auto`). */
  readonly fulfils?: (key: string, live: string | undefined, desired: string) => boolean;
  /** The effect of a change on the object itself. */
  readonly effectOf: (segments: readonly string[], live: JsonObject, after: Json | undefined) => Effect;
  /** Config and device rules that a schema cannot express. Paths are relative to the document. */
  readonly validate: (values: JsonObject, name: string) => readonly Problem[];
  /** Defaults to which fields return when a document drops them. Fields without a default stay as they are. */
  readonly blanks?: Readonly<Record<string, Json>>;
  /** Deleting it loses data that documents cannot restore. */
  readonly holdsData?: boolean;
  /** Why the server would refuse these changes of the live object; undefined when it would accept them. */
  readonly stuck?: (
    name: string,
    live: JsonObject,
    changes: readonly Change[],
  ) => { readonly message: string; readonly remedy: string } | undefined;
  /** The server never deletes it: a destroy only removes the document's values. */
  readonly isPermanent?: (name: string) => boolean;
}

type WithDefault = 'live' | 'liveNames' | 'apiName' | 'references' | 'isComputed' | 'effectOf' | 'validate';

/** Adds the defaults of a kind: it refers to nothing, and all of its fields change live. */
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
