// Writes the files of a new stack and their schema for editors, never over a file.
import { dirname, join } from 'node:path';
import { commandError } from '../../errors/usage-error.ts';
import { createFile } from '../../output/write-text.ts';
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
    await createFile(path, text).then(
      () => made.push(path),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw commandError(`cannot write ${path}: ${error.message}`, error);
        context.note(`${path} already exists: not changed`);
      },
    );
  }
  for (const path of made) context.out(`Wrote ${path}`);
  return made;
}
