// The edge of `npm run generate:bindings`: installs the generators when they are not there, and writes what they make.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bindingsFolder, generateBindings, generatorFolder, sealFor } from './generate.ts';

const repository = process.cwd();
const folder = bindingsFolder(repository);

if (!existsSync(join(generatorFolder(repository), 'node_modules'))) {
  const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', npm, { cwd: generatorFolder(repository), stdio: 'inherit' });
  if (status !== 0) throw new Error(`the generators could not be installed in ${generatorFolder(repository)}`);
}
const files = generateBindings(repository);
for (const made of ['cdktf/generated', 'cdktn']) rmSync(join(folder, made), { recursive: true, force: true });
for (const [path, text] of files) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
writeFileSync(join(folder, 'seal.json'), `${JSON.stringify(sealFor(repository, files), null, 2)}\n`);
process.stdout.write(`${files.size} files of bindings are in ${folder}\n`);
