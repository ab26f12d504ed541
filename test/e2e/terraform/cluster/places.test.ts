// Cluster members of containers and volumes: drift and moves back, evacuations, imports.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { terraformOverCluster, type TerraformOverCluster } from '../../../support/terraform/over-cluster.ts';
import { terraformMissing } from '../../../support/terraform/terraform.ts';

const missing = terraformMissing('places of objects in a cluster') ?? etcdMissing();

const base = `
resource "gantry_storage_pool" "fast" {
  name   = "fast"
  driver = "dir"
}
resource "gantry_network" "net" {
  name   = "gttp0"
  config = { "ipv4.address" = "none", "ipv6.address" = "none" }
}
`;
const container = (name: string, more: string, pool = 'gantry_storage_pool.fast.name'): string => `
resource "gantry_container" "${name}" {
  name     = "${name}"
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = ${pool} } }
  ${more}
}
`;

describe.skipIf(missing !== undefined)('places of objects in a cluster', () => {
  let over: TerraformOverCluster;
  const one = () => over.members[0] as TerraformOverCluster['members'][number];
  const locationOf = async (name: string): Promise<string> =>
    String((await one().get(`/1.0/containers/${name}`)).location);
  const createdAt = async (): Promise<unknown> => (await one().get('/1.0/containers/web')).created_at;
  const away = (name: string, to: string): Promise<unknown> =>
    one().ok('POST', `/1.0/containers/${name}?target=${to}`, { name, migration: true });
  const power = (name: string, action: string): Promise<unknown> =>
    one().ok('PUT', `/1.0/containers/${name}/state`, { action, force: true });
  const write = (web: string, more = ''): void => over.write(`${base}${container('web', web)}${more}`);

  beforeAll(async () => {
    over = await terraformOverCluster(3);
  });
  afterAll(() => over.cleanUp());

  test('a container that someone moved shows its target as drift, and moves back without being recreated', async () => {
    const { terraform } = over;
    write('target = "m3"', container('free', ''));
    await terraform.settle();
    const made = await createdAt();
    await power('web', 'stop');
    await away('web', 'm1');
    await power('web', 'start');
    await power('free', 'stop');
    await away('free', (await locationOf('free')) === 'm1' ? 'm2' : 'm1');
    await power('free', 'start');
    const { changes, output } = await terraform.plan();
    expect(changes).toBe(true);
    expect(output).toMatch(/~ target\s+= "m1" -> "m3"/);
    expect(output).toContain('The container web will be restarted');
    expect(output).toContain('Plan: 0 to add, 1 to change, 0 to destroy.');
    write('target = "m3"\n  allow_restart = false', container('free', ''));
    expect(await terraform.fails('plan')).toContain('The container web would have to restart');
    write('target = "m3"', container('free', ''));
    await terraform.apply();
    expect(await one().get('/1.0/containers/web')).toMatchObject({ location: 'm3', status: 'Running' });
    expect(await createdAt()).toBe(made);
    await terraform.expectNoChanges();
  });

  test('another target moves the container, a group accepts any of its members, and a wrong name is a plan error', async () => {
    const { terraform } = over;
    write('target = "m2"');
    const applied = await terraform.apply();
    expect(applied).toContain('1 changed, 1 destroyed');
    expect(await one().get('/1.0/containers/web')).toMatchObject({ location: 'm2', status: 'Running' });
    write('target = "@default"');
    const kept = await terraform.plan();
    expect(kept.output).not.toContain('restarted');
    await terraform.apply();
    expect(await locationOf('web')).toBe('m2');
    await terraform.expectNoChanges();
    await one().call('POST', '/1.0/cluster/groups', { name: 'far', members: ['m3'] });
    write('target = "@far"');
    await terraform.apply();
    expect(await locationOf('web')).toBe('m3');
    await terraform.expectNoChanges();
    write('target = "m22"');
    expect(await terraform.fails('plan')).toContain('The cluster has no member m22 (did you mean m2?)');
    write('target = "@none"');
    expect(await terraform.fails('plan')).toContain('The cluster has no group with members @none');
    write('target = "m3"', container('new', 'target = "m5"'));
    expect(await terraform.fails('plan')).toContain('Its members are m1, m2, m3');
  });

  test('an evacuation is not drift, and the containers are back in place after the restore', async () => {
    const { terraform } = over;
    const waiting = (more = ''): string =>
      container('waits', `target = "m3"\n  config = { "cluster.evacuate" = "stop" }\n  ${more}`);
    write('target = "m3"', waiting());
    await terraform.apply();
    await one().ok('POST', '/1.0/cluster/members/m3/state', { action: 'evacuate' });
    expect(await locationOf('web')).not.toBe('m3');
    await terraform.expectNoChanges();
    write('target = "m2"', waiting());
    expect((await terraform.plan()).output).not.toContain('restarted');
    // Other changes are made during the evacuation, and start nothing.
    write('target = "m3"', waiting('description = "meanwhile"'));
    await terraform.apply();
    expect(await one().get('/1.0/containers/waits')).toMatchObject({ description: 'meanwhile', status: 'Stopped' });
    await terraform.expectNoChanges();
    write('target = "m3"', waiting('description = "meanwhile"') + container('late', 'target = "m3"'));
    expect(await terraform.fails('plan')).toContain('The member m3 is evacuated');
    write('target = "m3"', waiting('description = "meanwhile"'));
    await one().ok('POST', '/1.0/cluster/members/m3/state', { action: 'restore' });
    expect(await locationOf('web')).toBe('m3');
    await terraform.expectNoChanges();
    expect(await one().get('/1.0/containers/waits')).toMatchObject({ status: 'Running' });
  });

  test('imports from a cluster plan nothing, even for volumes with one name on several members', async () => {
    const { terraform } = over;
    const pool = 'gantry_storage_pool.fast.name';
    const volume = (label: string, name: string, target: string): string =>
      `resource "gantry_storage_volume" "${label}" {\n  name = "${name}"\n  pool = ${pool}\n  ${target}\n}\n`;
    const snapshot = (label: string, of: string): string =>
      `resource "gantry_volume_snapshot" "${label}" {\n  name = "s0"\n  pool = ${pool}\n  volume = gantry_storage_volume.${of}.name\n  target = gantry_storage_volume.${of}.location\n}\n`;
    const more =
      snapshot('s1', 'twin1') +
      snapshot('s2', 'twin2') +
      volume('twin1', 'twin', 'target = "m1"') +
      volume('twin2', 'twin', 'target = "m2"') +
      volume('group', 'grouped', 'target = "@far"') +
      volume('free', 'free', '') +
      container('grouped', 'target = "@far"') +
      container('changed', 'target = "@far"\n  stop_timeout = 5') +
      container('plain', '');
    write('target = "m3"', more);
    await terraform.settle();
    const path = '/1.0/storage-pools/fast/volumes/custom/twin?target=';
    expect([(await one().get(`${path}m1`)).location, (await one().get(`${path}m2`)).location]).toEqual(['m1', 'm2']);
    const snapshots = async (member: string): Promise<unknown> =>
      one().get(`/1.0/storage-pools/fast/volumes/custom/twin/snapshots?target=${member}`);
    expect([await snapshots('m1'), await snapshots('m2')]).toMatchObject([{ length: 1 }, { length: 1 }]);
    const ids = {
      'gantry_storage_pool.fast': 'fast',
      'gantry_network.net': 'gttp0',
      'gantry_container.web': 'web',
      'gantry_container.grouped': 'grouped',
      'gantry_container.changed': 'changed',
      'gantry_container.plain': 'plain',
      'gantry_storage_volume.twin1': 'fast/twin,target=m1',
      'gantry_storage_volume.twin2': 'fast/twin,target=m2',
      'gantry_volume_snapshot.s1': 'fast/twin/s0,target=m1',
      'gantry_volume_snapshot.s2': 'fast/twin/s0,target=m2',
      'gantry_storage_volume.group': 'fast/grouped',
      'gantry_storage_volume.free': 'fast/free',
    };
    expect(await one().get('/1.0/storage-pools/fast/volumes/custom/grouped')).toMatchObject({ location: 'm3' });
    await terraform.forget(...Object.keys(ids));
    const unclear = await terraform.fails('import', 'gantry_storage_volume.twin1', 'fast/twin');
    expect(unclear).toMatch(/m1.*m2|target/);
    const blocks = Object.entries(ids).map(([address, id]) => `import {\n  to = ${address}\n  id = "${id}"\n}\n`);
    write('target = "m3"', more + blocks.join(''));
    const { output } = await terraform.plan();
    // The state gets a value that only the configuration knows, and with it the group as target.
    expect(output).toContain('Plan: 12 to import, 0 to add, 1 to change, 0 to destroy.');
    await terraform.settle();
    // One of two volumes is changed and removed on its member.
    write('target = "m3"', more.replace('target = "m2"', 'target = "m2"\n  description = "second"'));
    await terraform.apply();
    expect((await one().get(`${path}m2`)).description).toBe('second');
    expect((await one().get(`${path}m1`)).description).toBe('');
    write(
      'target = "m3"',
      more.replace(volume('twin1', 'twin', 'target = "m1"'), '').replace(snapshot('s1', 'twin1'), ''),
    );
    await terraform.apply();
    expect((await one().get('/1.0/storage-pools/fast/volumes/custom/twin')).location).toBe('m2');
  });
});
