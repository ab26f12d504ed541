// Applies every argument of every resource on a server, and imports all of it: the plans after both are empty, a refresh rewrites nothing
// in the state, and the import changes nothing on the server.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeClient } from '../../../support/daemons/tls.ts';
import type { Terraform } from '../../../support/terraform/terraform.ts';
import { everyBlock, importIds } from './blocks.ts';

export interface ServerWithArguments {
  readonly terraform: Terraform;
  readonly server: { readonly socketPath: string; get(path: string): Promise<unknown> };
  readonly differing: Parameters<typeof everyBlock>[2];
}

/** The attributes of all resources in the state. */
function attributes(dir: string): unknown {
  const { resources } = JSON.parse(readFileSync(join(dir, 'terraform.tfstate'), 'utf8')) as {
    resources: { instances: { attributes: object }[] }[];
  };
  return resources.map(({ instances }) => instances.map((each) => each.attributes));
}

async function expectSettled(terraform: Terraform): Promise<void> {
  await terraform.expectNoChanges();
  const before = attributes(terraform.dir);
  const { changes, output } = await terraform.plan('-refresh-only');
  expect(changes, output).toBe(false);
  await terraform.apply('-refresh-only');
  expect(attributes(terraform.dir)).toEqual(before);
}

/** What the server has, without what Terraform notes there, times of use, and links of the host, which other tests make as well. */
async function live(server: ServerWithArguments['server']): Promise<object> {
  const paths = [
    'containers',
    'profiles',
    'networks',
    'network-acls',
    'storage-pools',
    'images',
    'certificates',
    'projects',
  ];
  const inPool = ['storage-pools/fast/volumes/custom', 'containers/box/snapshots'];
  const found = await Promise.all([...paths, ...inPool].map((path) => server.get(`/1.0/${path}?recursion=1`)));
  const managed = found.map((list) =>
    (list as readonly { readonly managed?: boolean }[]).filter((one) => one.managed !== false),
  );
  return JSON.parse(
    JSON.stringify(managed, (key, value: unknown) => (key === 'last_used_at' ? undefined : value)),
  ) as object;
}

export async function expectEveryArgumentSettled({ terraform, server, differing }: ServerWithArguments): Promise<void> {
  const address = `unix://${server.socketPath}`;
  writeFileSync(join(terraform.dir, 'b'), 'b');
  const all = everyBlock(terraform.dir, (await makeClient('ci')).certPem, differing);
  terraform.write(`provider "gantry" {
  address = "${address}"
  remotes = { here = { address = "${address}" } }
}
`);
  writeFileSync(join(terraform.dir, 'all.tf.json'), JSON.stringify({ resource: all }, null, 1));
  await terraform.apply();
  await expectSettled(terraform);
  const { fingerprint: image } = terraform.state('gantry_image.i');
  const { fingerprint: certificate } = terraform.state('gantry_certificate.c');
  const found = Object.entries(importIds({ image, certificate, bridge: differing.bridge }, differing.image));
  await terraform.forget(...found.map(([to]) => to));
  const place = (to: string): string => {
    const [type = '', name = ''] = to.split('.');
    return 'project' in (all[type]?.[name] ?? {}) ? ',remote=here,project=default' : ',remote=here';
  };
  const text = found.map(([to, id]) => `import {\n  to = ${to}\n  id = ${JSON.stringify(`${id}${place(to)}`)}\n}\n`);
  writeFileSync(join(terraform.dir, 'imports.tf'), text.join(''));
  const before = await live(server);
  expect(await terraform.apply()).toContain(`${found.length} imported, 0 added`);
  expect(await live(server)).toEqual(before);
  await expectSettled(terraform);
}
