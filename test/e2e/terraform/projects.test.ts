// `project` on resources, data sources and in import ids, and projects with limits: on a stock LXD server and on gantryd.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDaemon, type Json } from '../../support/daemons/daemon.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { startStockLxd, stockLxdMissing } from '../../support/hosts/stock-lxd.ts';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';

const noTerraform = terraformMissing('projects with Terraform');
const noLxd = noTerraform ?? stockLxdMissing();
if (noTerraform === undefined && noLxd !== undefined) console.log(`skipped: projects of a stock LXD, since ${noLxd}`);

/** The interface of a server for these tests. */
interface Server {
  readonly socketPath: string;
  get(path: string): Promise<Json>;
  call(method: string, path: string, body?: object): Promise<unknown>;
  cleanUp(): Promise<void>;
}
const servers: readonly { readonly name: string; readonly missing?: string; readonly start: () => Promise<Server> }[] =
  [
    { name: 'a stock LXD server', ...(noLxd === undefined ? {} : { missing: noLxd }), start: startStockLxd },
    {
      name: 'gantryd',
      ...(noTerraform === undefined ? {} : { missing: noTerraform }),
      start: () => makeDaemon({ runtime: 'sim' }),
    },
  ];

describe.each(servers.filter(({ missing }) => missing === undefined))(
  'a project of $name',
  { timeout: 300_000 },
  ({ start }) => {
    let server: Server;
    let attached: Attached;
    let terraform: Terraform;
    beforeAll(async () => {
      server = await start();
      attached = await serveHere();
      terraform = new Terraform(attached, { address: `unix://${server.socketPath}` });
    });
    afterAll(async () => {
      attached?.stop();
      await server?.cleanUp();
    });

    const containersIn = async (project: string): Promise<readonly string[]> =>
      ((await server.get(`/1.0/containers?recursion=1&project=${project}`)) as readonly { name: string }[]).map(
        ({ name }) => name,
      );

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
    const inTeam = ['gantry_volume_snapshot.v', 'gantry_snapshot.s'];

    test('A project has its own objects, imported by either form of id, moved by replacement, destroyed with it', async () => {
      terraform.write(stack('gantry_project.team.name'));
      expect(await terraform.apply()).toContain('8 added, 0 changed, 0 destroyed');
      await terraform.expectNoChanges();
      expect(terraform.outputs()).toEqual({ names: ['box'] });
      expect(await containersIn('default')).toEqual([]);
      expect(await containersIn('team')).toEqual(['box']);

      terraform.write(stack('gantry_project.team.name', 'changed'));
      expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
      await terraform.expectNoChanges();

      await terraform.forget(...inTeam);
      await terraform.import('gantry_volume_snapshot.v', 'team/tfproj/data/s0');
      await terraform.import('gantry_snapshot.s', 'box/s0,project=team');
      const { output } = await terraform.plan();
      expect(output).not.toMatch(/must be replaced|will be created|will be destroyed/);
      await terraform.settle();

      terraform.write(stack('gantry_project.other.name', 'changed'));
      expect((await terraform.plan()).output).toMatch(/project += "team" -> "other" # forces replacement/);
      expect(await terraform.apply()).toContain('5 added, 0 changed, 5 destroyed');
      await terraform.expectNoChanges();
      expect(await containersIn('team')).toEqual([]);
      expect(await containersIn('other')).toEqual(['box']);
      expect(await terraform.destroy()).toContain('8 destroyed');
      expect((await server.get('/1.0/projects')) as string[]).toEqual(['/1.0/projects/default']);
    });

    test('Limits and restrictions of a project are config, changed in place, and the server enforces them', async () => {
      const limited = (containers: number, restricted: boolean, count: number): string => `
resource "gantry_project" "t" {
  name   = "small"
  config = { "limits.containers" = "${containers}", restricted = "${restricted}" }
}
resource "gantry_storage_pool" "p" {
  name   = "tfsmall"
  driver = "dir"
}
resource "gantry_container" "c" {
  count    = ${count}
  project  = gantry_project.t.name
  name     = "c\${count.index}"
  profiles = []
  running  = false
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
}
`;
      terraform.write(limited(1, true, 1));
      expect(await terraform.apply()).toContain('3 added, 0 changed, 0 destroyed');
      await terraform.expectNoChanges();
      await terraform.forget('gantry_project.t');
      await terraform.import('gantry_project.t', 'small');
      expect((await terraform.plan()).output).not.toMatch(/must be replaced|will be created|will be destroyed/);
      terraform.write(limited(1, true, 2));
      expect(await terraform.fails('apply', '-auto-approve')).toMatch(/limits\.containers|"?[Mm]aximum number/);
      terraform.write(limited(2, false, 2));
      expect(await terraform.apply()).toMatch(/1 added, 1 changed, 0 destroyed/);
      await terraform.expectNoChanges();
      expect((await server.get('/1.0/projects/small')).config).toMatchObject({
        'limits.containers': '2',
        restricted: 'false',
      });
      await terraform.destroy();
    });

    test('A certificate is restricted to projects, and the restriction is lifted again', async () => {
      const { certPem } = await makeClient('team');
      const certificate = (rights: string): string => `
resource "gantry_project" "t" {
  name = "rights"
}
resource "gantry_certificate" "c" {
  name        = "team"
  certificate = ${JSON.stringify(certPem)}
  ${rights}
  depends_on  = [gantry_project.t]
}
`;
      const rightsNow = async (): Promise<readonly unknown[]> =>
        ((await server.get('/1.0/certificates?recursion=1')) as Json[]).map(({ restricted, projects }) => [
          restricted ?? false,
          projects ?? [],
        ]);
      terraform.write(certificate('restricted = true\n  projects = [gantry_project.t.name]'));
      await terraform.settle();
      expect(await rightsNow()).toEqual([[true, ['rights']]]);
      terraform.write(certificate(''));
      expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
      await terraform.expectNoChanges();
      expect(await rightsNow()).toEqual([[false, []]]);
      await terraform.destroy();
    });

    test('A project deleted outside Terraform takes its objects with it, and the next plan creates both', async () => {
      const team = `resource "gantry_project" "t" {\n  name = "gone"\n}\n`;
      terraform.write(`${team}resource "gantry_profile" "p" {\n  name = "web"\n  project = gantry_project.t.name\n}\n`);
      await terraform.apply();
      await server.call('DELETE', '/1.0/profiles/web?project=gone');
      await server.call('DELETE', '/1.0/projects/gone');
      expect(await terraform.apply()).toContain('2 added, 0 changed, 0 destroyed');
      await terraform.expectNoChanges();
      await terraform.destroy();
    });
  },
);

describe.skipIf(noTerraform !== undefined)('the names of projects on gantryd', () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  const profile = (project: string): string =>
    `resource "gantry_profile" "p" {\n  name = "web"\n  project = ${project}\n}\n`;

  test('The default project can be named or not, and a project that does not exist is an error', async () => {
    const { terraform, daemon } = world;
    terraform.write(profile('"default"'));
    await terraform.settle();
    // Without it nothing changes: the project stays that of the provider.
    terraform.write(profile('null'));
    await terraform.expectNoChanges();
    await terraform.forget('gantry_profile.p');
    await terraform.import('gantry_profile.p', 'default/web');
    await terraform.expectNoChanges();
    terraform.write(profile('"team"'));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('The project team was not found');
    terraform.write(profile('"default"'));
    await terraform.apply();
    expect(await daemon.get('/1.0/profiles')).toContain('/1.0/profiles/web');
  });

  test('An import id of a pool cannot name a project', async () => {
    const { terraform } = world;
    terraform.write('resource "gantry_storage_pool" "p" {\n  name = "fast"\n  driver = "dir"\n}\n');
    await terraform.apply();
    await terraform.forget('gantry_storage_pool.p');
    expect(await terraform.fails('import', 'gantry_storage_pool.p', 'team/fast')).toContain('belongs to no project');
  });
});
