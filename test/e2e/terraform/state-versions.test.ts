// States of older versions of the provider: they are read without a difference, with unchanged configurations.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';
import { terraformMissing } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('states of older versions');

interface StateFile {
  serial: number;
  readonly resources: readonly {
    readonly type: string;
    readonly instances: readonly { schema_version: number; readonly attributes: Record<string, unknown> }[];
  }[];
}

const stack = `
resource "gantry_storage_pool" "p" {
  name   = "fast"
  driver = "dir"
}
resource "gantry_container" "c" {
  name     = "web"
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
}
data "gantry_container" "c" {
  name = gantry_container.c.name
}
output "pool" {
  value = gantry_container.c.expanded_devices.root.pool
}
output "paths" {
  value = { for name, device in gantry_container.c.expanded_devices : name => device["path"] }
}
output "seen" {
  value = data.gantry_container.c.devices["root"].pool
}
`;

describe.skipIf(missing !== undefined)('a state of version 0', () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  test('A state of version 0 of a container is read, and references to its expanded devices still work', async () => {
    const { terraform } = world;
    terraform.write(stack);
    await terraform.apply();
    expect(await terraform.outputs()).toEqual({ pool: 'fast', paths: { root: '/' }, seen: 'fast' });
    const path = join(terraform.dir, 'terraform.tfstate');
    const file = JSON.parse(readFileSync(path, 'utf8')) as StateFile;
    const [container] = file.resources.find(({ type }) => type === 'gantry_container')?.instances ?? [];
    if (container === undefined) throw new Error('the state has no container');
    const { value } = container.attributes['expanded_devices'] as { value: unknown };
    expect(value).toEqual({ root: { type: 'disk', path: '/', pool: 'fast' } });
    container.attributes['expanded_devices'] = value;
    container.schema_version = 0;
    writeFileSync(path, JSON.stringify({ ...file, serial: file.serial + 1 }));
    await terraform.expectNoChanges();
    expect(await terraform.apply()).toContain('0 added, 0 changed, 0 destroyed');
    expect((await terraform.state('gantry_container.c')).expanded_devices).toEqual(value);
  });
});
