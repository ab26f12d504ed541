// Exports the files that a set owns in a live container as entries of `files:`. The engine reads the files.
import type { Json, JsonObject } from '../documents/document.ts';
import type { Content, FileEntry } from '../documents/inside.ts';
import { mapOf } from '../documents/json-values.ts';
import { ownedAt, type OwnerRecord } from '../ownership/owner-records.ts';

interface ExportedFiles {
  /** undefined: none. */
  readonly files?: readonly JsonObject[];
  readonly comments: readonly string[];
}

/** `live.contents`: the bytes of files that are small enough for a document. */
export function exportFiles(live: JsonObject, mine: OwnerRecord | undefined): ExportedFiles {
  const owned = ownedAt(mine?.keys, ['files']);
  if (owned === undefined || typeof owned === 'string') return { comments: [] };
  const contents = mapOf(live['contents']) as Readonly<Record<string, Content>>;
  const entries = mapOf(live['files']) as Readonly<Record<string, FileEntry>>;
  const files: JsonObject[] = [];
  const comments: string[] = [];
  for (const path of Object.keys(owned).sort()) {
    const entry = entries[path];
    if (entry === undefined) continue;
    const content = contents[path];
    if (entry.type !== 'file') files.push(plainEntry(path, entry));
    else if (content === undefined)
      comments.push(
        `${path} is too large to be written here: keep it in a separate file and name that file as its source`,
      );
    else files.push({ path, ...contentOf(content), ...attributesOf(entry, '0644') });
  }
  return files.length === 0 ? { comments } : { files, comments };
}

function plainEntry(path: string, { type, target, ...entry }: FileEntry): JsonObject {
  return type === 'symlink' ? { path, target: target ?? '' } : { path, type, ...attributesOf(entry, '') };
}

const contentOf = (content: Content): JsonObject =>
  'text' in content ? { content: content.text } : 'base64' in content ? { content_base64: content.base64 } : {};

/** Attributes that differ from the defaults; for a directory, all. */
function attributesOf({ mode, uid, gid }: Omit<FileEntry, 'type'>, usual: string): Readonly<Record<string, Json>> {
  const isFile = usual !== '';
  return {
    ...(mode === undefined || mode === usual ? {} : { mode }),
    ...(uid === undefined || (isFile && uid === 0) ? {} : { uid }),
    ...(gid === undefined || (isFile && gid === 0) ? {} : { gid }),
  };
}
