// Terraform over a cluster: objects of all members and of single ones, imports, and a member that goes away.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';
import { terraformOverCluster, type TerraformOverCluster } from '../../../support/terraform/over-cluster.ts';
import { terraformMissing, type Terraform } from '../../../support/terraform/terraform.ts';

const missing = terraformMissing('Terraform over a cluster') ?? etcdMissing();

const config = (target: string, card: string): string => `
resource "gantry_storage_pool" "fast" {
  name             = "fast"
  driver           = "dir"
  member_overrides = { m2 = { config = {} } }
}
resource "gantry_network" "net" {
  name   = "gttc0"
  config = { "ipv4.address" = "none", "ipv6.address" = "none", "bridge.external_interfaces" = "${card}" }
}
resource "gantry_storage_volume" "data" {
  name   = "data"
  pool   = gantry_storage_pool.fast.name
  target = "m2"
}
resource "gantry_container" "web" {
  name     = "web"
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.fast.name } }
  running  = false
  target   = "${target}"
}
`;

describe.skipIf(missing !== undefined)('Terraform over a cluster', () => {
  let over: TerraformOverCluster;
  let members: readonly TestMember[];
  let terraform: Terraform;

  beforeAll(async () => {
    over = await terraformOverCluster(3);
    ({ members, terraform } = over);
  });
  afterAll(() => over.cleanUp());
  const offline = (count: number): Promise<void> =>
    until(async () => {
      const listed = (await members[2]?.get('/1.0/cluster/members?recursion=1')) as { status: string }[];
      return listed.filter(({ status }) => status === 'Offline').length === count;
    });
  const write = (target = 'm3', card = 'eth1'): void => over.write(config(target, card));

  test('objects are created on their targets, a second plan is empty, and imports plan nothing', async () => {
    write();
    await terraform.apply();
    expect(await members[0]?.get('/1.0/containers/web')).toMatchObject({ location: 'm3' });
    expect(await members[0]?.get('/1.0/storage-pools/fast/volumes/custom/data')).toMatchObject({ location: 'm2' });
    expect(await members[0]?.get('/1.0/storage-pools/fast')).toMatchObject({ locations: ['m1', 'm2', 'm3'] });
    await terraform.expectNoChanges();
    await terraform.forget('gantry_network.net');
    await terraform.import('gantry_network.net', 'gttc0');
    // A cluster does not show what each member has for itself: the state notes it.
    expect(await terraform.settle()).toContain('0 added, 1 changed, 0 destroyed');
    const cards = (): Promise<unknown> =>
      Promise.all(
        ['m1', 'm2', 'm3'].map(async (target) => {
          const own = await members[0]?.get(`/1.0/networks/gttc0?target=${target}`);
          return own?.config['bridge.external_interfaces'] ?? '';
        }),
      );
    for (const card of ['', 'eth1']) {
      write('m3', card);
      await terraform.settle();
      expect(await cards()).toEqual([card, card, card]);
    }
  });

  test('plans continue through the next member when one is gone, and the state keeps the objects of the lost member', async () => {
    await members[0]?.stop();
    await offline(1);
    await terraform.expectNoChanges();
    await members[1]?.stop();
    await offline(2);
    // The volume is on the second member: it stays in the state and is not recreated.
    const unseen = await terraform.run(['plan', '-no-color', '-detailed-exitcode']);
    expect(unseen.code, unseen.output).toBe(1);
    expect(unseen.output).toMatch(/m2/);
    expect(terraform.state('gantry_storage_volume.data')).toMatchObject({ name: 'data', location: 'm2' });
  });
});
