// `project` on resources, data sources and in import ids: on a stock LXD server, which has projects, and on gantryd, which has only the
// default one.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../support/hosts/stock-lxd.ts';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';

const noTerraform = terraformMissing('projects with Terraform');
const noLxd = noTerraform ?? stockLxdMissing();
if (noTerraform === undefined && noLxd !== undefined) console.log(`skipped: projects of a stock LXD, since ${noLxd}`);

describe.skipIf(noLxd !== undefined)('a project of a stock LXD server', { timeout: 300_000 }, () => {
  let lxd: StockLxd;
  let attached: Attached;
  let terraform: Terraform;
  beforeAll(async () => {
    lxd = await startStockLxd();
    attached = await serveHere();
    terraform = new Terraform(attached, { address: `unix://${lxd.socketPath}` });
  }, 120_000);
  afterAll(async () => {
    terraform?.remove();
    attached?.stop();
    await lxd?.cleanUp();
  }, 120_000);

  const stack = (project: string, description = 'of a team'): string => `
resource "gantry_project" "team" {
  name   = "team"
  config = { "features.images" = "false" }
}
resource "gantry_project" "other" {
  name   = "other"
  config = { "features.images" = "false" }
}
resource "gantry_storage_pool" "p" {
  name   = "tfproj"
  driver = "dir"
}
resource "gantry_profile" "p" {
  project     = ${project}
  name        = "web"
  description = "${description}"
  devices     = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
}
resource "gantry_storage_volume" "v" {
  project = gantry_profile.p.project
  pool    = gantry_storage_pool.p.name
  name    = "data"
}
resource "gantry_volume_snapshot" "v" {
  project = gantry_profile.p.project
  pool    = gantry_storage_pool.p.name
  volume  = gantry_storage_volume.v.name
  name    = "s0"
}
resource "gantry_container" "c" {
  project  = gantry_profile.p.project
  name     = "box"
  profiles = [gantry_profile.p.name]
  running  = false
}
resource "gantry_snapshot" "s" {
  project   = gantry_profile.p.project
  container = gantry_container.c.name
  name      = "s0"
}
data "gantry_containers" "all" {
  project    = gantry_profile.p.project
  depends_on = [gantry_container.c]
}
output "names" {
  value = keys(data.gantry_containers.all.containers)
}
`;
  const inTeam = [
    'gantry_profile.p',
    'gantry_storage_volume.v',
    'gantry_volume_snapshot.v',
    'gantry_container.c',
    'gantry_snapshot.s',
  ];

  test('A project has its own objects, imported by either form of id, moved by replacement, destroyed with it', async () => {
    terraform.write(stack('gantry_project.team.name'));
    expect(await terraform.apply()).toContain('8 added, 0 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect(await terraform.outputs()).toEqual({ names: ['box'] });
    expect(await lxd.get('/1.0/instances')).toEqual([]);
    expect(await lxd.get('/1.0/instances?project=team')).toEqual(['/1.0/instances/box?project=team']);

    terraform.write(stack('gantry_project.team.name', 'changed'));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    await terraform.expectNoChanges();

    await terraform.forget(...inTeam);
    await terraform.import('gantry_profile.p', 'team/web');
    await terraform.import('gantry_storage_volume.v', 'tfproj/data,project=team');
    await terraform.import('gantry_volume_snapshot.v', 'team/tfproj/data/s0');
    await terraform.import('gantry_container.c', 'team/box');
    await terraform.import('gantry_snapshot.s', 'box/s0,project=team');
    const { output } = await terraform.plan();
    expect(output).not.toMatch(/must be replaced|will be created|will be destroyed/);
    await terraform.apply();
    await terraform.expectNoChanges();

    terraform.write(stack('gantry_project.other.name', 'changed'));
    expect((await terraform.plan()).output).toMatch(/project += "team" -> "other" # forces replacement/);
    expect(await terraform.apply()).toContain('5 added, 0 changed, 5 destroyed');
    await terraform.expectNoChanges();
    expect(await lxd.get('/1.0/instances?project=team')).toEqual([]);
    expect(await lxd.get('/1.0/instances?project=other')).toEqual(['/1.0/instances/box?project=other']);
    expect(await terraform.destroy()).toContain('8 destroyed');
    expect((await lxd.get('/1.0/projects')) as string[]).toEqual(['/1.0/projects/default']);
  });

  test('A project deleted outside Terraform takes its objects with it, and the next plan creates both', async () => {
    const team = `resource "gantry_project" "t" {\n  name = "gone"\n}\n`;
    terraform.write(`${team}resource "gantry_profile" "p" {\n  name = "web"\n  project = gantry_project.t.name\n}\n`);
    await terraform.apply();
    await lxd.call('DELETE', '/1.0/profiles/web?project=gone');
    await lxd.call('DELETE', '/1.0/projects/gone');
    expect(await terraform.apply()).toContain('2 added, 0 changed, 0 destroyed');
    await terraform.expectNoChanges();
    await terraform.destroy();
  });
});

describe.skipIf(noTerraform !== undefined)('a project on gantryd', { timeout: 120_000 }, () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  const profile = (project: string): string =>
    `resource "gantry_profile" "p" {\n  name = "web"\n  project = ${project}\n}\n`;

  test('Only the default project exists on gantryd, also by name, and any other is refused with the reason', async () => {
    const { terraform, daemon } = world;
    terraform.write(profile('"default"'));
    await terraform.apply();
    await terraform.expectNoChanges();
    await terraform.forget('gantry_profile.p');
    await terraform.import('gantry_profile.p', 'web,project=default');
    await terraform.expectNoChanges();
    // Another notation of the same project replaces nothing.
    terraform.write(profile('null'));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    await terraform.expectNoChanges();
    await terraform.forget('gantry_profile.p');
    await terraform.import('gantry_profile.p', 'default/web');
    await terraform.expectNoChanges();
    terraform.write(profile('"team"'));
    expect(await terraform.fails('apply', '-auto-approve')).toContain(
      'The project team was not found: this release has the project default only',
    );
    terraform.write(profile('"default"'));
    await terraform.apply();
    expect(await daemon.get('/1.0/profiles')).toContain('/1.0/profiles/web');
    for (const [id, message] of [
      ['team/web,project=other', 'names both team and other'],
      ['a/b/c', 'is not understood'],
    ] as const) {
      await terraform.run(['state', 'rm', 'gantry_profile.p']);
      expect(await terraform.fails('import', 'gantry_profile.p', id)).toContain(message);
    }
  });

  test('An import id of a pool cannot name a project', async () => {
    const { terraform } = world;
    terraform.write('resource "gantry_storage_pool" "p" {\n  name = "fast"\n  driver = "dir"\n}\n');
    await terraform.apply();
    await terraform.forget('gantry_storage_pool.p');
    expect(await terraform.fails('import', 'gantry_storage_pool.p', 'team/fast')).toContain('belongs to no project');
  });
});
