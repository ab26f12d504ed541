// `gantry init [dir] [--template NAME]`: writes working first manifests and their schema for editors; never overwrites a file.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { Run } from '../../session/context.ts';
import type { InitOptions } from './setup-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';
import { templates, type Template } from './init-templates.ts';

export const schemaFile = 'gantry.schema.json';

export const init: Run<InitOptions> = async (context, [directory = '.']) => {
  const template = templateOf(context.options.template ?? 'container');
  const { manifestSchema } = await import('../../../../server/api/schema/manifest-schema.ts');
  const files: readonly (readonly [string, string])[] = [
    [schemaFile, `${JSON.stringify(manifestSchema(), null, 2)}\n`],
    ...Object.entries(template.files),
  ];
  const made: string[] = [];
  for (const [file, text] of files) {
    const path = join(directory, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: 'wx' }).then(
      () => made.push(path),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST')
          throw new CliError(`cannot write ${path}: ${error.message}`, exitCodes.error, error);
        context.note(`${path} already exists: not changed`);
      },
    );
  }
  if (context.isJson) context.io.stdout.write(`${JSON.stringify({ made })}\n`);
  for (const path of made) context.out(`Wrote ${path}`);
  if (made.length > 0) context.note(`Next: gantry ${template.next.replaceAll('DIR', directory)}`);
  return exitCodes.ok;
};

/** Throws with a list of all templates for an unknown name. */
function templateOf(name: string): Template {
  const known: Readonly<Record<string, Template>> = templates;
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (found !== undefined) return found;
  const list = Object.entries(known).map(([one, { about }]) => `\n  ${one.padEnd(14)}${about}`);
  throw usageError(
    `unknown template ${JSON.stringify(name)}${hint(name, Object.keys(known))}; the templates are:${list.join('')}`,
  );
}
