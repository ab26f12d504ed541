// `gantry import lxd-terraform`: Terraform accepts what it writes, and objects that exist plan to nothing.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importTerraform } from '../../../reconciler/manifest/import-terraform/import-terraform.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { terraformMissing } from '../../support/terraform/terraform.ts';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';

const missing = terraformMissing('imports of configurations for LXD');
const fixtures = join(import.meta.dirname, '../../fixtures/lxd-terraform');

describe.skipIf(missing !== undefined)('A configuration that was imported', () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  const provider = (): string => `provider "gantry" {\n  address = "unix://${world.daemon.socketPath}"\n}\n`;

  test('objects that exist on the server have no change, and the import blocks may go then', async () => {
    const { terraform, daemon } = world;
    const text = readFileSync(join(fixtures, 'host/main.tf'), 'utf8');
    const { files, notes, errors } = importTerraform([{ path: 'main.tf', text }], 'import');
    expect({ errors, notes }).toEqual({ errors: [], notes: [] });
    const [main, imports, required] = files.map((file) => file.text);
    // The server gets its objects from the same words, then Terraform forgets all of them.
    packImage(terraform.dir, 'image.tar.gz', 'one');
    const image = `resource "gantry_image" "i" {\n  source = { type = "file", file = "${join(terraform.dir, 'image.tar.gz')}" }\n}
resource "gantry_image_alias" "base" {\n  name   = "base"\n  target = gantry_image.i.fingerprint\n}\n`;
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
    expect(await terraform.outputs()).toEqual({ names: ['web0', 'web1', 'cache', 'db'] });
  });

  test('a configuration with modules, files, commands and JSON is valid afterwards', async () => {
    const { terraform } = world;
    cpSync(join(fixtures, 'shop'), terraform.dir, { recursive: true });
    const given = ['main.tf', 'modules/db/main.tf.json'].map((path) => ({
      path,
      text: readFileSync(join(fixtures, 'shop', path), 'utf8')
        // The provider that stays is not installed here.
        .replace(/resource "lxd_instance" "machine" \{[^}]*\}/, '')
        .replace(/resource "lxd_network_acl" "acl" \{[^}]*\}/, '')
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
