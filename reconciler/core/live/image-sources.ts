// Finds the image on this server that a document with `source` means, without contacting the source: by the pin in gantry.lock, by
// the set's record, or by the update source that the server reports. Pure.
import type { Image } from '../../../server/api/image/image.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { sourceName } from '../kinds/image-source.ts';
import { mapOf } from '../documents/json-values.ts';
import type { Live, Observed } from '../documents/observed.ts';
import type { KeyHash } from '../ownership/owner-records.ts';
import type { SetOwner } from '../plan/plan.ts';
import { projectOfLive } from './project-scope.ts';

/** The source of an image document that has one. */
export function sourceOf({ kind, values }: Pick<Document, 'kind' | 'values'>): JsonObject | undefined {
  return kind === 'image' && values['source'] !== undefined ? mapOf(values['source']) : undefined;
}

/** The source where `gantry update` looks for a newer image; undefined when the image never changes or the server updates it. */
export function followedSource(document: Document): string | undefined {
  const source = sourceOf(document);
  if (source === undefined || isWhole(source['fingerprint']) || document.values['auto_update'] === true)
    return undefined;
  return sourceName(source);
}

const isWhole = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** Image documents with `fingerprint` filled in, where it is known. `pins`: gantry.lock. */
export function resolveImages(
  documents: readonly Document[],
  observed: Observed,
  owner: SetOwner | undefined,
  pins: ReadonlyMap<string, string>,
): readonly Document[] {
  const resolved = documents.map((document) => {
    const source = sourceOf(document);
    if (source === undefined) return document;
    const pin = pins.get(followedSource(document) ?? '');
    const fingerprint = pin ?? known(document, source, observed, owner);
    if (fingerprint === undefined) return document;
    if (pin === undefined) return { ...document, fingerprint };
    // The fingerprint fixes the content of the image.
    const values = { ...document.values, source: { ...source, fingerprint } };
    return { ...document, fingerprint, isFetched: true, values };
  });
  // Returning the same array keeps its cached normal form.
  return resolved.every((document, index) => document === documents[index]) ? documents : resolved;
}

function known(
  document: Document,
  source: JsonObject,
  observed: Observed,
  owner: SetOwner | undefined,
): string | undefined {
  if (isWhole(source['fingerprint'])) return source['fingerprint'];
  return recorded(document, source, observed, owner) ?? updatedFrom(document, source, observed);
}

/** The key under which the set's state stores the image of a source. */
export const sourceHash = (source: JsonObject, project: string | undefined, hash: KeyHash): string =>
  hash(`source\0${sourceName(source)}\0${project ?? ''}`);

function recorded(
  { project }: Document,
  source: JsonObject,
  observed: Observed,
  owner: SetOwner | undefined,
): string | undefined {
  if (owner === undefined) return undefined;
  const wanted = sourceHash(source, project, owner.hash);
  const key = observed.sets?.get(owner.set)?.sources.get(wanted);
  const live = key === undefined ? undefined : observed.images.get(key)?.object;
  return live !== undefined && projectOfLive(observed, live) === project ? live.fingerprint : undefined;
}

/** The newest image that the server updates from this source. */
export function updatedFrom(
  { project }: Pick<Document, 'project'>,
  source: JsonObject,
  observed: Observed,
): string | undefined {
  const wanted = sourceName(source);
  let newest: Image | undefined;
  for (const { object } of observed.images.values()) {
    if (object.cached || projectOfLive(observed, object) !== project) continue;
    const from = updateSource({ object });
    if (from === undefined || sourceName(from) !== wanted) continue;
    if (newest === undefined || object.uploaded_at > newest.uploaded_at) newest = object;
  }
  return newest?.fingerprint;
}

/** The update source of a live image, in the form of a document's source. */
export function updateSource({ object }: Live<Image>): JsonObject | undefined {
  const { update_source: from } = object;
  if (from === undefined || from === null || from.server === '' || from.alias === '') return undefined;
  const certificate = from.certificate === '' ? {} : { certificate: from.certificate };
  return { type: 'image', server: from.server, protocol: from.protocol, alias: from.alias, ...certificate };
}
