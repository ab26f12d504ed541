// The entry point of `npm run generate:bindings`: installs the generators when they are missing, and writes their output.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bindingsFolder, generateBindings, generatorFolder, sealFor } from './generate.ts';
import { writeCdktf } from './write-cdktf.ts';

const repository = process.cwd();

if (!existsSync(join(generatorFolder(repository), 'node_modules'))) {
  const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', npm, { cwd: generatorFolder(repository), stdio: 'inherit' });
  if (status !== 0) throw new Error(`the generators could not be installed in ${generatorFolder(repository)}`);
}
const folder = join(bindingsFolder(repository), 'cdktn/generated');
const files = generateBindings(repository, 'cdktn');
rmSync(folder, { recursive: true, force: true });
for (const [path, text] of files) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
const seal = `${JSON.stringify(sealFor(repository, files), null, 2)}\n`;
writeFileSync(join(bindingsFolder(repository), 'seal.json'), seal);
writeCdktf(repository);
process.stdout.write(`${files.size} files of bindings are in ${folder}\n`);
