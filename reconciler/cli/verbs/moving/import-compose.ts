// `gantry import compose FILE`: writes manifests, and lists each part that cannot be converted, with its line.
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { text as textOfStream } from 'node:stream/consumers';
import { importCompose } from '../../../manifest/import-compose/import-compose.ts';
import { exactYaml } from '../../../manifest/text/yaml-text.ts';
import { formatManifest } from '../../../manifest/text/format.ts';
import { writeOutput } from '../../output/write-text.ts';
import { fileError } from '../../../../server/lib/shared/error-code.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import type { Run } from '../../session/context.ts';
import type { ImportComposeOptions } from './import-verbs.ts';
import { readSmallText } from './read-small-text.ts';

/** In the order of docker compose. */
const usualNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'];

export const importComposeFile: Run<ImportComposeOptions> = async (context, [given = '.']) => {
  const file = await composeFileAt(given);
  const { output, force, ...parts } = context.options;
  const text =
    file === '-'
      ? await textOfStream(context.io.stdin)
      : await readFile(file, 'utf8').catch((error: unknown) => {
          throw fileError(`cannot read ${file}`, error);
        });
  const { documents, notes, errors } = importCompose(text, dirname(resolve(file)), parts, readSmallText);
  for (const { line, text: what } of [...errors, ...notes]) context.note(`${file}:${line}: ${what}`);
  if (errors.length > 0) throw commandError(`${file} was not imported: correct what is named above`);
  const written = formatManifest(documents.map((document) => `---\n${exactYaml(document)}`).join('')).text;
  if (output === undefined) context.io.stdout.write(written);
  else await writeOutput(output, written, force === true);
};

/** The path itself, or the compose file in it. */
async function composeFileAt(path: string): Promise<string> {
  if (path === '-' || (await kindOf(path)) !== 'folder') return path;
  for (const file of usualNames.map((name) => join(path, name))) if ((await kindOf(file)) === 'file') return file;
  throw usageError(`${path} has no ${usualNames.join(', ')}: name the compose file`);
}

const kindOf = (path: string): Promise<'folder' | 'file' | undefined> =>
  stat(path).then(
    (found) => (found.isDirectory() ? 'folder' : 'file'),
    () => undefined,
  );
