// Exports the source and the power state of a container, which are not among its fields.
import type { JsonObject } from '../documents/document.ts';
import { mapOf, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { compareText } from '../text/listing-order.ts';
import { projectOfLive, scopesOf } from '../live/project-scope.ts';
import { isRunning } from '../live/usage.ts';
import { plainName } from '../text/scoped-name.ts';
import type { Own } from './exported.ts';

export function containerPart(
  own: Own,
  observed: Observed,
): { readonly values: JsonObject; readonly comments: string[] } {
  const base = textOf(mapOf(own.live['config'])['volatile.base_image']);
  const state: JsonObject = isRunning(own.live as unknown as Parameters<typeof isRunning>[0])
    ? {}
    : { state: 'stopped' };
  if (base === undefined || base === '') return { values: { source: { type: 'none' }, ...state }, comments: [] };
  const { keyOf } = scopesOf(observed);
  const aliases = [...observed.aliases]
    .filter(([, { object }]) => object.target === base)
    .flatMap(([key, { object }]) => {
      const plain = plainName(key, projectOfLive(observed, object));
      return keyOf('image_alias', plain, own.project) === key ? [plain] : [];
    });
  const alias = aliases.sort(compareText)[0];
  if (alias !== undefined) return { values: { source: { type: 'image', alias }, ...state }, comments: [] };
  if (observed.images.has(keyOf('image', base, own.project)))
    return { values: { source: { type: 'image', fingerprint: base }, ...state }, comments: [] };
  const comments = [
    `made from the image ${base}, which the server no longer has: a new container needs another source`,
  ];
  return { values: state, comments };
}
