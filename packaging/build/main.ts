// The entry point of `npm run packages [-- DIR]`: writes all packages of this version, made of what was built, with their checksums.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { addOns } from './add-ons.ts';
import { components, notices } from './components.ts';
import { controllerImage, whyNoImage, writeControllerTree } from './controller-tree.ts';
import { debianPackages, debianVersion, type Inputs } from './debian.ts';
import { manuals } from './manuals.ts';
import { nodeRuntime, nodeVersion } from './node-runtime.ts';
import { packNpm } from './npm.ts';
import { writeImage } from './oci.ts';
import { run } from './run.ts';
import { cyclonedx } from './sbom.ts';
import { sums, writeSums } from './sums.ts';
import { folderEntries, withTree } from './tree.ts';

// Folders of the image have the modes that a mask leaves them.
process.umask(0o022);
const metafiles = ['dist/bundle.json', 'dist/library.json'];
const target = resolve(process.argv[2] ?? '.release');

/** So that nothing of an older release stays, and nothing of others goes. */
function clear(): void {
  const names = existsSync(target) ? readdirSync(target) : [];
  if (names.length > 0 && !names.includes(sums))
    throw new Error(
      `${target} holds other files than packages and would be replaced: choose an empty or new directory`,
    );
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
}

/** The time of the release: of its commit, unless the builder says another one. */
const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']));

function inputs(version: string): Inputs {
  const read = (path: string): string => readFileSync(path, 'utf8');
  const gzip = (content: string): Buffer => gzipSync(content, { level: 9 });
  const { program: node, license: nodeLicense } = nodeRuntime('node_modules/.cache/gantry');
  run(node, ['dist/code-cache/write.mjs']);
  const isOfCache = (path: string): boolean => path.endsWith('.cjs') || path.includes(`.v${nodeVersion}-`);
  const names = ['gantry', 'gantryd', 'terraform-provider-gantry'];
  const complete = (shell: string): string => run('node', ['dist/bin/gantry.js', 'completion', shell]) + '\n';
  const parts = components('.', metafiles);
  return {
    version,
    maintainer: process.env['GANTRY_MAINTAINER'] ?? 'Gantry <gantry@example.org>',
    epoch,
    product: [
      ...['bin', 'provider-package', 'web'].flatMap((name) => folderEntries(`dist/${name}`, `dist/${name}`)),
      ...folderEntries('dist/code-cache', 'dist/code-cache', isOfCache),
      ...addOns(),
      ['package.json', { from: 'package.json', mode: 0o644 }],
    ],
    programs: Object.fromEntries(names.map((name) => [name, read(`dist/bin/${name}.js`)])),
    pages: [
      ...folderEntries('docs', 'docs', (path) => path.endsWith('.md') || path.startsWith('page/')),
      ...folderEntries('examples', 'examples', (path) => !path.includes('.gitignore')),
      ...['README.md', 'CHANGELOG.md', 'SECURITY.md'].map((name) => [name, { from: name, mode: 0o644 }] as const),
    ],
    manuals: manuals('dist/man', gzip),
    completions: { bash: complete('bash'), zsh: complete('zsh'), fish: complete('fish') },
    node,
    notices: `${notices(parts)}\n\nNode.js ${nodeVersion}\n${'='.repeat(20)}\n\n${read(nodeLicense)}`,
    gzip,
    packaging: (path) => read(join('packaging', path)),
  };
}

function buildDebian(given: Inputs): void {
  for (const { name, tree } of debianPackages(given)) {
    const file = join(target, `${name}_${debianVersion(given.version)}_amd64.deb`);
    withTree(tree, epoch, (stage) => {
      run('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', stage, file], { SOURCE_DATE_EPOCH: String(epoch) });
    });
  }
}

/** The files of the package for Debian that a controller runs with. */
const isOfController = (path: string): boolean =>
  path.startsWith('usr/lib/gantry/') || ['usr/bin/gantry', 'usr/share/doc/gantry/NOTICES.gz'].includes(path);

async function buildImage(given: Inputs): Promise<void> {
  const why = process.env['GANTRY_NO_IMAGE'] === '1' ? 'GANTRY_NO_IMAGE is set' : whyNoImage();
  if (why !== undefined) {
    process.stdout.write(`skipped: the image of the controller: ${why}\n`);
    return;
  }
  const work = mkdtempSync(join(tmpdir(), 'gantry-image-'));
  const [tree, apt, parts] = ['tree', 'apt', 'parts'].map((name) => join(work, name)) as [string, string, string];
  for (const folder of [tree, apt, parts]) mkdirSync(folder);
  try {
    const [gantry] = debianPackages(given);
    const product = new Map([...(gantry?.tree ?? [])].filter(([path]) => isOfController(path)));
    const packages = writeControllerTree(tree, product, apt);
    const file = join(target, `gantry-controller-${given.version}.oci.tar`);
    await writeImage(tree, controllerImage(given.version, epoch, packages), file, parts);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const built = ['dist/.built', ...metafiles].filter((file) => !existsSync(file));
if (built.length > 0) throw new Error(`the product is not built (${built.join(', ')} is missing): npm run build`);
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
clear();
packNpm('.', target, epoch);
run('node', ['dist/provider/packaging/main.js', join(target, 'terraform')]);
rmSync(join(target, 'terraform/mirror'), { recursive: true, force: true });
const given = inputs(version);
buildDebian(given);
await buildImage(given);
writeFileSync(
  join(target, `gantry-${version}.cdx.json`),
  cyclonedx({ version, epoch, node: nodeVersion }, components('.', metafiles)),
);
const list = writeSums(target, process.env['GANTRY_SIGNING_KEY']);
process.stdout.write(`${list}The packages of Gantry ${version} are in ${target}\n`);
