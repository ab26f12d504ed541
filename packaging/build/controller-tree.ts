// The root file system of the controller's image: packages of Debian that git and signatures need, unpacked without their scripts, and the product.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { ImageFacts } from './oci.ts';
import { run } from './run.ts';
import { placeTree, type Tree } from './tree.ts';

const suite = 'bookworm';
const mirror = process.env['GANTRY_DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian';
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const wanted =
  'bash ca-certificates coreutils dash git gpg libstdc++6 openssh-client perl-base util-linux xz-utils zstd'.split(' ');
const user = { name: 'gantry', id: 1000 } as const;
/** What a program never reads; the terms of each package stay. */
const unused = [
  'usr/share/man',
  'usr/share/info',
  'usr/share/locale',
  'usr/share/lintian',
  'usr/share/bug',
  'var/cache',
];

/** Why this machine cannot make it; undefined: it can. */
export function whyNoImage(): string | undefined {
  if (process.getuid?.() !== 0) return 'root is needed for the owners of its files';
  for (const program of ['apt-get', 'dpkg-deb']) if (!hasProgram(program)) return `${program} is not installed`;
  return existsSync(keyring) ? undefined : 'the package debian-archive-keyring is not installed';
}

const hasProgram = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, name)));

/** Returns the packages of Debian in it, as `name=version`. */
export function writeControllerTree(tree: string, product: Tree, work: string): readonly string[] {
  const packages = fetchPackages(work);
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) {
    mkdirSync(join(tree, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(tree, name));
  }
  for (const file of packages)
    run('sh', ['-c', 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"', 'sh', file, tree]);
  for (const path of unused) rmSync(join(tree, path), { recursive: true, force: true });
  removeDocs(join(tree, 'usr/share/doc'));
  writeSettings(tree);
  placeTree(product, tree);
  return packages.map((file) => run('dpkg-deb', ['--show', '--showformat=${Package}=${Version}', file]));
}

function fetchPackages(work: string): readonly string[] {
  for (const folder of ['lists/partial', 'archives/partial']) mkdirSync(join(work, folder), { recursive: true });
  writeFileSync(join(work, 'status'), '');
  const lines = [`${suite} main`, `${suite}-updates main`];
  const sources = lines.map((line) => `deb [signed-by=${keyring}] ${mirror} ${line}\n`).join('');
  writeFileSync(join(work, 'sources.list'), sources);
  const settings = {
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': work,
    'Dir::State::status': join(work, 'status'),
    'Dir::Cache': work,
    'APT::Architecture': 'amd64',
    'APT::Sandbox::User': 'root',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  run('apt-get', [...options, '-q', 'update']);
  run('apt-get', [...options, '-q', '-y', '--no-install-recommends', '--download-only', 'install', ...wanted]);
  const archives = join(work, 'archives');
  return readdirSync(archives)
    .filter((name) => name.endsWith('.deb'))
    .toSorted()
    .map((name) => join(archives, name));
}

function removeDocs(docs: string): void {
  for (const name of readdirSync(docs))
    for (const file of readdirSync(join(docs, name), { withFileTypes: true }))
      if (file.name !== 'copyright') rmSync(join(docs, name, file.name), { recursive: true });
}

/** What the scripts of the packages would have made. */
function writeSettings(tree: string): void {
  const { name, id } = user;
  writeFileSync(
    join(tree, 'etc/passwd'),
    `root:x:0:0:root:/root:/bin/bash\n${name}:x:${id}:${id}::/home/${name}:/bin/bash\n`,
  );
  writeFileSync(join(tree, 'etc/group'), `root:x:0:\n${name}:x:${id}:\n`);
  const certificates = join(tree, 'usr/share/ca-certificates/mozilla');
  const bundle = readdirSync(certificates)
    .toSorted()
    .map((file) => readFileSync(join(certificates, file), 'utf8'));
  writeFileSync(join(tree, 'etc/ssl/certs/ca-certificates.crt'), bundle.join(''));
  if (!existsSync(join(tree, 'usr/bin/sh'))) symlinkSync('dash', join(tree, 'usr/bin/sh'));
  for (const folder of [`home/${name}`, 'config', 'tmp']) mkdirSync(join(tree, folder), { recursive: true });
  chmodSync(join(tree, 'tmp'), 0o1777);
  for (const folder of [`home/${name}`, 'config']) run('chown', [`${id}:${id}`, join(tree, folder)]);
  // Made by ldconfig on a host; the loader finds libraries of the usual folders without it.
  rmSync(join(tree, 'etc/ld.so.cache'), { force: true });
}

/** What the image says of itself. Its files of Debian are those of the day it was built; the label names them. */
export const controllerImage = (version: string, epoch: number, packages: readonly string[]): ImageFacts => ({
  name: 'gantry-controller',
  version,
  epoch,
  entrypoint: ['/usr/bin/gantry'],
  command: ['controller', '--config', '/config/gantry.yaml'],
  user: `${user.id}:${user.id}`,
  folder: '/config',
  environment: {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: `/home/${user.name}`,
    SSL_CERT_FILE: '/etc/ssl/certs/ca-certificates.crt',
  },
  ports: ['8440/tcp'],
  labels: {
    'org.opencontainers.image.title': 'Gantry controller',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.gantry.debian-packages': packages.join(' '),
  },
});
