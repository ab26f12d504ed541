// Writes the files of a new stack and their schema for editors, never over a file.
import { dirname, join } from 'node:path';
import { createWhole } from '../../../../server/lib/durable-files.ts';
import type { Output } from '../../session/context.ts';
import type { Template } from './init-templates.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

export const schemaFile = 'gantry.schema.json';

/** Keeps existing files, and writes manifests as `gantry fmt` does. Returns the paths of the new ones. */
export async function writeNew(
  context: Output,
  directory: string,
  texts: Template['files'],
): Promise<readonly string[]> {
  const [{ manifestSchema }, { formatManifest }] = await Promise.all([
    import('../../../../server/api/documents/manifest-schema.ts'),
    import('../../../manifest/text/format.ts'),
  ]);
  const files: readonly (readonly [string, string])[] = [
    [schemaFile, `${JSON.stringify(manifestSchema(), null, 2)}\n`],
    ...Object.entries(texts).map(([file, text]) => [file, formatManifest(text).text] as const),
  ];
  const made: string[] = [];
  for (const [file, text] of files) {
    const path = join(directory, file);
    await makeFolder(dirname(path));
    if (await createWhole(path, text)) made.push(path);
    else context.note(`${path} already exists: not changed`);
  }
  for (const path of made) context.out(`Wrote ${path}`);
  return made;
}
