// The entry point of packaging: `npm run package:provider [DIR]` writes the release of this version, `--package DIR` only the files that
// `terraform-provider-gantry install` copies. It replaces the directory, which must hold nothing else.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleProvider } from './bundle.ts';
import { launcherVersion } from './mirror.ts';
import { packageFiles, releaseFiles, writeRelease } from './release.ts';

const repository = process.cwd();
const isPackage = process.argv[2] === '--package';
const given = process.argv[isPackage ? 3 : 2];
const directory = resolve(given ?? join(repository, isPackage ? 'dist/provider-package' : '.release'));

/** Removes the files of an earlier run, and refuses a directory with files of others. */
function clear(): void {
  let names: readonly string[];
  try {
    names = readdirSync(directory);
  } catch {
    return;
  }
  const isOurs = names.some((name) => launcherVersion(name) !== undefined || name.endsWith('_SHA256SUMS'));
  if (names.length > 0 && !isOurs) {
    throw new Error(`${directory} holds other files and would be replaced: choose an empty or new directory`);
  }
  rmSync(directory, { recursive: true, force: true });
}

const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
const license = readFileSync(join(repository, 'LICENSE'));
const input = { version, license, programs: await bundleProvider(repository) };
clear();
writeRelease(isPackage ? packageFiles(input) : releaseFiles(input), directory);
process.stdout.write(`terraform-provider-gantry ${version} is in ${directory}\n`);
