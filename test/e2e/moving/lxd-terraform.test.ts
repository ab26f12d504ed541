// `gantry import lxd-terraform`: Terraform accepts what it writes, and objects that exist plan to nothing.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importTerraform } from '../../../reconciler/manifest/import-terraform/import-terraform.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { attachBeside, standIns, stateFile, type Old } from '../../support/terraform/other-providers.ts';
import { terraformMissing } from '../../support/terraform/terraform.ts';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';

const missing = terraformMissing('imports of configurations for LXD');
const fixtures = join(import.meta.dirname, '../../fixtures/lxd-terraform');

describe.skipIf(missing !== undefined)('A configuration that was imported', () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  const provider = (): string => `provider "gantry" {\n  address = "unix://${world.daemon.socketPath}"\n}\n`;

  test('objects that exist on the server have no change, and the import blocks can then be removed', async () => {
    const { terraform, daemon } = world;
    const text = readFileSync(join(fixtures, 'host/main.tf'), 'utf8');
    const { files, notes, errors } = importTerraform([{ path: 'main.tf', text }], 'import');
    expect({ errors, notes }).toEqual({ errors: [], notes: [] });
    const [main, imports, required] = files.map((file) => file.text);
    // The same configuration creates the objects, then Terraform forgets all of them.
    const image = withImage(terraform.dir);
    terraform.write(image);
    await terraform.apply();
    terraform.write(`${image}${main}`);
    await terraform.apply();
    const created = (await daemon.get('/1.0/containers/web1')).created_at as string;
    writeFileSync(join(terraform.dir, 'terraform.tfstate'), '');
    writeFileSync(join(terraform.dir, 'main.tf'), `${required}${provider()}${main}`);
    writeFileSync(join(terraform.dir, 'gantry-import.tf'), imports ?? '');
    const { output } = await terraform.plan();
    expect(output).toContain('Plan: 9 to import, 0 to add, 0 to change, 0 to destroy.');
    expect(await terraform.apply()).toContain('9 imported, 0 added, 0 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect((await daemon.get('/1.0/containers/web1')).created_at).toBe(created);
    expect(terraform.outputs()).toEqual({ names: ['web0', 'web1', 'cache', 'db'] });
  });

  test('a state that the LXD provider made moves, and nothing is created, replaced or destroyed', async () => {
    const { terraform, daemon } = world;
    const text = readFileSync(join(fixtures, 'host/main.tf'), 'utf8')
      .replaceAll('incus_storage_volume', 'lxd_volume')
      .replaceAll('incus_instance_snapshot', 'lxd_snapshot')
      .replaceAll('incus_', 'lxd_');
    const { files, errors, notes } = importTerraform([{ path: 'main.tf', text }], 'moved');
    expect({ errors, notes }).toEqual({ errors: [], notes: [] });
    const [main = '', moved = '', required = ''] = files.map((file) => file.text);
    const image = withImage(terraform.dir);
    terraform.write(image);
    await terraform.apply();
    terraform.write(`${image}${main}`);
    await terraform.apply();
    const created = (await daemon.get('/1.0/containers/web1')).created_at as string;
    writeFileSync(join(terraform.dir, 'terraform.tfstate'), stateFile('terraform-lxd/lxd', lxdState()));
    writeFileSync(join(terraform.dir, 'main.tf'), `${required}${provider()}${main}`);
    writeFileSync(join(terraform.dir, 'gantry-moved.tf'), moved);
    const others = await standIns();
    try {
      attachBeside(terraform, others);
      const { output } = await terraform.plan();
      expect(output).toContain('(moved from lxd_instance.each["db"])');
      // The state gets the sources of the four containers, which are only in the configuration.
      expect(output).toContain('Plan: 0 to add, 4 to change, 0 to destroy.');
      expect(await terraform.apply()).toContain('0 added, 4 changed, 0 destroyed');
      await terraform.expectNoChanges();
    } finally {
      for (const other of others) other.stop();
    }
    expect((await daemon.get('/1.0/containers/web1')).created_at).toBe(created);
  });

  test('a configuration with modules, files, commands and JSON is valid afterwards', async () => {
    const { terraform } = world;
    cpSync(join(fixtures, 'shop'), terraform.dir, { recursive: true });
    const given = ['main.tf', 'modules/db/main.tf.json'].map((path) => ({
      path,
      text: readFileSync(join(fixtures, 'shop', path), 'utf8')
        // The kept provider is not installed here.
        .replace(/resource "lxd_instance" "machine" \{[^}]*\}/, '')
        .replace('random = { source = "hashicorp/random" }', ''),
    }));
    const { files, replaced, errors } = importTerraform(given, 'import');
    expect(errors).toEqual([]);
    for (const path of replaced) writeFileSync(join(terraform.dir, path), '{}');
    for (const { path, text } of files) writeFileSync(join(terraform.dir, path), text);
    await terraform.run(['get']);
    const { code, output } = await terraform.run(['validate']);
    expect(code, output).toBe(0);
  });
});

/** The image that the configuration expects on the server, as Terraform has it. */
function withImage(dir: string): string {
  packImage(dir, 'image.tar.gz', 'one');
  return `resource "gantry_image" "i" {\n  source = { type = "file", file = "${join(dir, 'image.tar.gz')}" }\n}
resource "gantry_image_alias" "base" {\n  name   = "base"\n  target = gantry_image.i.fingerprint\n}\n`;
}

/** The state that `terraform-lxd/lxd` stores for the objects of `host/main.tf`. */
function lxdState(): readonly Old[] {
  const where = { project: 'default', remote: null, target: null, description: '' };
  const device = (name: string, type: string, properties: object): object => ({ name, type, properties });
  const box = (name: string, index: number | string, config: object, devices: readonly object[]): Old => ({
    type: 'lxd_instance',
    name: typeof index === 'number' ? 'web' : 'each',
    index,
    version: 1,
    attributes: {
      ...where,
      name,
      type: 'container',
      image: 'base',
      profiles: ['base'],
      running: true,
      status: 'Running',
      ephemeral: false,
      device: devices,
      config,
      limits: { memory: '128MiB' },
      ipv4_address: null,
      file: [],
    },
  });
  const data = device('data', 'disk', { path: '/srv', pool: 'fast', source: 'data' });
  return [
    { type: 'lxd_storage_pool', name: 'fast', attributes: { ...where, name: 'fast', driver: 'dir', config: {} } },
    {
      type: 'lxd_network',
      name: 'lan',
      attributes: { ...where, name: 'lan0', type: 'bridge', managed: true, config: { 'ipv4.address': '10.44.0.1/24' } },
    },
    {
      type: 'lxd_volume',
      name: 'data',
      attributes: { ...where, name: 'data', pool: 'fast', type: 'custom', content_type: 'filesystem', config: {} },
    },
    {
      type: 'lxd_profile',
      name: 'base',
      attributes: { ...where, name: 'base', config: {}, device: [device('root', 'disk', { path: '/', pool: 'fast' })] },
    },
    box('web0', 0, { 'user.by': 'peer' }, [data]),
    box('web1', 1, { 'user.by': 'peer' }, [data]),
    box('db', 'db', { 'user.role': 'database' }, []),
    box('cache', 'cache', { 'user.role': 'cache' }, []),
    { type: 'lxd_snapshot', name: 'before', attributes: { ...where, instance: 'db', name: 'before', stateful: false } },
  ];
}
