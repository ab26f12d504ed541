// Import ids of containers: the name, and the source from which the container was made. Pure.
import type { Source } from './container-attributes.ts';
import { backupSource, copySource, parseImageReference } from './container-state.ts';
import { badId, parseImportId, type ImportId } from '../shared/import-ids.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const importShape =
  '[project/]name[,image=<alias, fingerprint or https://host/alias> | ,copy=<container>[/<snapshot>] | ,backup=<file>]';

/** Name, project and source of an import id. Throws when it has another shape. */
export function parseContainerId(id: string) {
  const { parts, options, scope } = parseImportId(id, 1, importShape, ['image', 'copy', 'backup']);
  const source = sourceOf(options, id);
  return { name: parts[0] ?? '', ...scope, ...withoutUndefined({ source }) };
}

/** The source from an import id; undefined when the id names none. */
function sourceOf({ image, copy, backup }: ImportId['options'], id: string): Source | undefined {
  if (backup !== undefined && backup !== '' && image === undefined && copy === undefined) return backupSource(backup);
  if (backup !== undefined) throw badId(id, importShape);
  if (copy !== undefined && copy !== '' && image === undefined) return copySource(copy);
  if (image === undefined && copy === undefined) return undefined;
  const source = copy === undefined ? parseImageReference(image ?? '') : undefined;
  if (source !== undefined) return source;
  throw badId(id, importShape);
}
