// Types each page of docs/tutorials command by command and compares the shown output; pages about a folder of examples: test/e2e/examples.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { markdownPages } from '../../support/markdown.ts';
import { buildShellPrograms } from '../../support/cli/examples.ts';
import { repository } from '../../support/cli/programs.ts';
import { typeTutorial } from '../../support/cli/tutorial.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { startStockLxd, stockLxdMissing } from '../../support/hosts/stock-lxd.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { installBindings } from '../../support/terraform/bindings-package.ts';
import { makeRelease, terraformMissing } from '../../support/terraform/terraform.ts';

const noTerraform = terraformMissing('the tutorial for Terraform');
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the tutorial for a laptop, since ${noImage}`);
const noLxd = stockLxdMissing() ?? clientMissing('lxc');
if (noLxd !== undefined) console.log(`skipped: the tutorial for a move from LXD, since ${noLxd}`);
const programs = buildShellPrograms();
const path = join(programs.root, 'path');

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('every tutorial has a test', () => {
  const pages = markdownPages('docs')
    .map((page) => page.path)
    .filter((each) => each.startsWith('docs/tutorials/'));
  const inExamples = readdirSync(join(repository, 'test/e2e/examples')).flatMap((file) => {
    const text = readFileSync(join(repository, 'test/e2e/examples', file), 'utf8');
    return [...text.matchAll(/tutorial: '([a-z-]+)'/g)].map((match) => match[1] ?? '');
  });
  const here = ['cdktf', 'gitops', 'laptop', 'moving-from-lxd', 'terraform'];
  expect(pages.toSorted()).toEqual(
    ['README', ...here, ...inExamples].toSorted().map((name) => `docs/tutorials/${name}.md`),
  );
});

test.skipIf(noImage !== undefined)(
  'the laptop tutorial works without root: a first container, a change, drift, a destroy',
  async () => {
    await typeTutorial('laptop.md', { path });
  },
);

test('a controller follows a repository and reverts a manual change', async () => {
  const port = String(await freePort());
  await typeTutorial('gitops.md', { path, typed: (command) => command.replaceAll('8440', port) });
});

test.skipIf(noTerraform !== undefined)('Terraform applies, and takes over a configuration for LXD', async () => {
  const { directory } = await makeRelease();
  const rc = join(programs.root, 'terraform.rc');
  writeFileSync(
    rc,
    `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(join(directory, 'mirror'))}\n  }\n}\n`,
  );
  await typeTutorial('terraform.md', {
    path,
    // The release of this run stands in for the installed provider.
    typed: (command) =>
      command.startsWith('terraform-provider-gantry install')
        ? `echo ${rc}`
        : command.replace(/^terraform /, `TF_CLI_CONFIG_FILE=${rc} CHECKPOINT_DISABLE=1 terraform `),
  });
});

test('an app of CDKTF is applied without Terraform, and changed', async () => {
  const { root } = await installBindings();
  await typeTutorial('cdktf.md', {
    path,
    // The packages of this repository stand in for those of the registry.
    typed: (command) =>
      command.startsWith('npm install') ? `ln -s ${join(root, 'node_modules')} node_modules` : command,
  });
});

test.skipIf(noLxd !== undefined)('a container with its volume moves from an LXD and back', async () => {
  const home = tempFolder('gtut-lxd-');
  const lxd = await startStockLxd();
  try {
    const lxc = lxcClient(lxd.dir, home);
    await lxd.ok('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    await lxc('profile', 'device', 'add', 'default', 'root', 'disk', 'path=/', 'pool=default');
    await lxc('init', '--empty', 'db');
    mkdirSync(join(lxd.dir, 'storage-pools/default/containers/db/rootfs'));
    await lxc('storage', 'volume', 'create', 'default', 'data');
    await lxc('storage', 'volume', 'attach', 'default', 'data', 'db', '/data');
    await lxc('snapshot', 'db', 'before');
    await typeTutorial('moving-from-lxd.md', { path, env: lxc.env });
  } finally {
    await lxd.cleanUp();
  }
});
