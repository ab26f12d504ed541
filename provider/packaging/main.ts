// The edge of `npm run package:provider`: writes the release of this version into a directory.
import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleProvider } from './bundle.ts';
import { releaseFiles, writeRelease } from './release.ts';

const repository = process.cwd();
const directory = resolve(process.argv[2] ?? join(repository, 'dist/provider-release'));
const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
const license = readFileSync(join(repository, 'LICENSE'));
rmSync(directory, { recursive: true, force: true });
writeRelease(releaseFiles({ version, license, programs: await bundleProvider(repository) }), directory);
process.stdout.write(`terraform-provider-gantry ${version} is in ${directory}\n`);
