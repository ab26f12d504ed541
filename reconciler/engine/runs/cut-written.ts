// The documents of a revision without their secrets.
import type { Json } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { cutSecrets } from '../../core/history/revision-secrets.ts';
import type { WrittenDocument } from '../../core/history/revisions.ts';
import type { KeyHash } from '../../core/ownership/owner-records.ts';
import { seedText } from '../../manifest/documents/cloud-config.ts';

/** Replaces secrets by hashes of the values that the server will hold. */
export function cutWritten(written: readonly WrittenDocument[], hash: KeyHash): readonly WrittenDocument[] {
  const asText = (path: readonly string[], value: Json): Json =>
    isMap(value) ? seedText(path.at(-1) ?? '', value) : value;
  return written.map((document) => cutSecrets(document, hash, asText));
}
