// Configurations that Terraform generates from imports: they plan to nothing and create equal objects again.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { fastPool } from '../../support/terraform/blocks.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('Terraform and configurations that it generates');

describe.skipIf(missing !== undefined)('a generated configuration', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));

  async function generate(imports: string): Promise<string> {
    terraform.write(imports);
    const file = join(terraform.dir, 'generated.tf');
    rmSync(file, { force: true });
    await terraform.plan(`-generate-config-out=${file}`);
    return readFileSync(file, 'utf8');
  }

  test('A generated network configuration is complete, plans to nothing, and creates an equal network again', async () => {
    await daemon.call('POST', '/1.0/networks', {
      name: 'gen0',
      type: 'bridge',
      config: { 'bridge.mtu': '1400', 'ipv6.address': 'none', 'user.x': '1' },
    });
    const { config } = await daemon.get('/1.0/networks/gen0');
    expect(config['ipv4.address']).toMatch(/^10\./);
    const generated = await generate('import {\n  to = gantry_network.n\n  id = "gen0"\n}\n');
    for (const key of ['ipv4.address', 'ipv4.nat', 'bridge.mtu', 'user.x']) expect(generated).toContain(`"${key}"`);
    await terraform.settle();
    await terraform.apply('-replace=gantry_network.n');
    await terraform.expectNoChanges();
    expect((await daemon.get('/1.0/networks/gen0')).config).toMatchObject(config);
    expect(terraform.state('gantry_network.n')).toMatchObject({
      ipv4_address: config['ipv4.address'].split('/')[0],
      ipv6_address: null,
    });
  });

  test('A written network configuration that leaves values to the server plans to nothing and removes nothing', async () => {
    await daemon.call('POST', '/1.0/networks', { name: 'gen0', config: { 'ipv6.address': 'none' } });
    const { config } = await daemon.get('/1.0/networks/gen0');
    const written = (more: string): string => `
resource "gantry_network" "n" {
  name   = "gen0"
  config = { "ipv6.address" = "none"${more} }
}
data "gantry_network" "d" {
  name = gantry_network.n.name
}
output "address" {
  value = data.gantry_network.d.ipv4_address
}
`;
    terraform.write(written(''));
    await terraform.import('gantry_network.n', 'gen0');
    // The output is new; nothing else is.
    expect((await terraform.plan()).output).not.toContain('gantry_network.n will');
    terraform.write(written(', "user.x" = "1"'));
    await terraform.settle();
    expect((await daemon.get('/1.0/networks/gen0')).config).toEqual({ ...config, 'user.x': '1' });
    expect(terraform.outputs()['address']).toBe(config['ipv4.address'].split('/')[0]);
    // Removing a configured key from the configuration removes it from the server.
    terraform.write(written(', "user.x" = "1", "ipv4.nat" = "false"'));
    await terraform.apply();
    terraform.write(written(', "user.x" = "1"'));
    expect((await terraform.plan()).changes).toBe(true);
  });

  test('A generated project configuration has the features of the project, and one without them plans to nothing', async () => {
    const config = { 'features.images': 'false', 'user.x': '1' };
    await daemon.call('POST', '/1.0/projects', { name: 'team', config });
    const made = await daemon.get('/1.0/projects/team');
    const block = (keys: string): string =>
      `resource "gantry_project" "p" {\n  name = "team"\n  config = {${keys}}\n}\n`;
    const imports = 'import {\n  to = gantry_project.p\n  id = "team"\n}\n';
    terraform.write(`${imports}${block('"user.x" = "1"')}`);
    expect((await terraform.plan()).output).toContain('1 to import, 0 to add, 0 to change, 0 to destroy');
    expect(await generate(imports)).toMatch(/"features.images" *= "false"/);
    await terraform.settle();
    await terraform.apply('-replace=gantry_project.p');
    await terraform.expectNoChanges();
    expect((await daemon.get('/1.0/projects/team')).config).toEqual(made.config);
    rmSync(join(terraform.dir, 'generated.tf'));
    terraform.write(block('"user.x" = "2"'));
    await terraform.forget('gantry_project.p');
    await terraform.import('gantry_project.p', 'team');
    await terraform.settle();
    expect((await daemon.get('/1.0/projects/team')).config).toEqual({ ...made.config, 'user.x': '2' });
  });

  test('A generated configuration of a snapshot without expiry does not mention the year 1', async () => {
    terraform.write(`
${fastPool}resource "gantry_container" "c" {
  name     = "web"
  running  = false
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
}
resource "gantry_snapshot" "s" {
  container = gantry_container.c.name
  name      = "one"
}
`);
    await terraform.settle();
    const before = readFileSync(join(terraform.dir, 'main.tf'), 'utf8');
    await terraform.forget('gantry_snapshot.s');
    const rest = before.slice(before.indexOf('resource'), before.indexOf('resource "gantry_snapshot"'));
    const generated = await generate(`${rest}import {\n  to = gantry_snapshot.again\n  id = "web/one"\n}\n`);
    expect(generated).not.toContain('0001-01-01');
    await terraform.settle();
    writeFileSync(join(terraform.dir, 'generated.tf'), generated);
    await terraform.apply('-replace=gantry_snapshot.again');
    await terraform.expectNoChanges();
  });
});
