// `gantry import lxd-terraform DIR`: rewrites a configuration for our provider, and lists each part that cannot be converted, with its line.
import { randomBytes } from 'node:crypto';
import { cp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { importTerraform, type ImportedTerraform } from '../../../manifest/import-terraform/import-terraform.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import type { Run } from '../../session/context.ts';
import type { ImportTerraformOptions } from './import-verbs.ts';
import { fileError } from '../../../../server/lib/shared/error-code.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

export const importTerraformFolder: Run<ImportTerraformOptions> = async (context, [dir = '']) => {
  const { output, import: imports } = context.options;
  const names = await configurationIn(dir);
  if (output !== undefined) await needFree(output, dir);
  const given = await Promise.all(names.map(async (path) => ({ path, text: await readFile(join(dir, path), 'utf8') })));
  const imported = importTerraform(given, imports === true ? 'import' : 'moved');
  const { notes, errors, files, converted } = imported;
  for (const { file, line, text } of [...errors, ...notes]) context.note(`${join(dir, file)}:${line}: ${text}`);
  if (errors.length > 0) throw commandError(`${dir} was not imported: correct what is named above`);
  if (output === undefined) {
    const before = new Map(given.map(({ path, text }) => [path, text]));
    for (const { path, text } of files)
      if (before.get(path) !== text) context.io.stdout.write(`# ${path}\n\n${text}\n`);
    return;
  }
  await writeWhole(dir, output, imported);
  context.note(
    `${converted} resources and data sources converted. Next: cd ${output}, terraform init, terraform fmt, terraform plan`,
  );
};

/** Relative paths of all *.tf and *.tf.json files, those of modules in sub-folders too. */
async function configurationIn(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw fileError(`cannot read ${dir}`, error);
  });
  const paths = entries
    .filter((entry) => entry.isFile() && /\.tf(?:\.json)?$/.test(entry.name))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .filter((path) => !isLeftOut(path))
    .sort();
  if (paths.length === 0) throw usageError(`${dir} has no *.tf or *.tf.json file`);
  return paths;
}

/** Private files of Terraform and git. */
const isLeftOut = (path: string): boolean =>
  path.split(sep).some((part) => part === '.terraform' || part === '.git' || part === '.terraform.tfstate.lock.info');

async function needFree(output: string, dir: string): Promise<void> {
  const inside = relative(resolve(dir), resolve(output));
  if (inside === '' || !inside.startsWith('..'))
    throw usageError(`--output ${output} lies in ${dir}: name a new folder beside it`);
  const found = await stat(output).catch(() => undefined);
  if (found !== undefined) throw usageError(`${output} already exists: name a new folder, or remove it`);
}

/** Creates the folder atomically, with all other files of the configuration: templates, values, its state. */
async function writeWhole(dir: string, output: string, { files, replaced }: ImportedTerraform): Promise<void> {
  const target = resolve(output);
  // Another import into the same folder has a draft of its own.
  const partial = join(dirname(target), `.${basename(target)}.${randomBytes(4).toString('hex')}.partial`);
  try {
    await makeFolder(dirname(target));
    await cp(dir, partial, { recursive: true, filter: (path) => !isLeftOut(relative(dir, path)) });
    for (const path of replaced) await rm(join(partial, path));
    for (const { path, text } of files) await writeFile(join(partial, path), text);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw fileError(`cannot write ${output}`, error);
  }
}
