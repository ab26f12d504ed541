// Terraform over a cluster: objects of all members and of single ones, imports, and a member that goes away.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/store/watching.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('Terraform over a cluster') ?? etcdMissing();

const config = (target: string): string => `
resource "gantry_storage_pool" "fast" {
  name             = "fast"
  driver           = "dir"
  member_overrides = { m2 = { config = {} } }
}
resource "gantry_network" "net" {
  name   = "gttc0"
  config = { "ipv4.address" = "none", "ipv6.address" = "none" }
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
  let attached: Attached;
  let cluster: TestCluster;
  let members: readonly TestMember[];
  let terraform: Terraform;
  let provider = '';

  beforeAll(async () => {
    attached = await serveHere();
    terraform = new Terraform(attached);
    cluster = await makeCluster(3);
    members = cluster.members;
    const me = await makeClient('terraform');
    const certificate = me.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    await members[0]?.call('POST', '/1.0/certificates', { type: 'client', certificate, name: 'terraform' });
    const server = await members[0]?.get('/1.0');
    const file = (name: string, text: string): string => {
      const path = join(terraform.dir, name);
      writeFileSync(path, text);
      return path;
    };
    provider = `provider "gantry" {
  address                 = "${members.map(({ address }) => `https://${address}`).join(',')}"
  server_certificate      = "${String(server?.environment.certificate_fingerprint)}"
  client_certificate_file = "${file('me.crt', me.certPem)}"
  client_key_file         = "${file('me.key', me.keyPem)}"
}
`;
  }, 120_000);
  afterAll(async () => {
    terraform.remove();
    attached.stop();
    await cluster.cleanUp();
  });
  const offline = (count: number): Promise<void> =>
    until(async () => {
      const listed = (await members[2]?.get('/1.0/cluster/members?recursion=1')) as { status: string }[];
      return listed.filter(({ status }) => status === 'Offline').length === count;
    });
  const write = (target = 'm3'): void => terraform.write(`${provider}${config(target)}`);

  test(
    'what it makes is on the members that it names, a second plan is empty, and imports plan nothing',
    { timeout: 60_000 },
    async () => {
      write();
      await terraform.apply();
      expect(await members[0]?.get('/1.0/containers/web')).toMatchObject({ location: 'm3' });
      expect(await members[0]?.get('/1.0/storage-pools/fast/volumes/custom/data')).toMatchObject({ location: 'm2' });
      expect(await members[0]?.get('/1.0/storage-pools/fast')).toMatchObject({ locations: ['m1', 'm2', 'm3'] });
      await terraform.expectNoChanges();
      await terraform.forget('gantry_network.net');
      await terraform.import('gantry_network.net', 'gttc0');
      await terraform.expectNoChanges();
    },
  );

  test(
    'with a member gone, plans go through the next one, and the state keeps what that member has',
    { timeout: 120_000 },
    async () => {
      await members[0]?.stop();
      await offline(1);
      await terraform.expectNoChanges();
      await members[1]?.stop();
      await offline(2);
      // The volume is on the second one: it is neither forgotten nor made again.
      const unseen = await terraform.run(['plan', '-no-color', '-detailed-exitcode']);
      expect(unseen.code, unseen.output).toBe(1);
      expect(unseen.output).toMatch(/m2/);
      expect(await terraform.state('gantry_storage_volume.data')).toMatchObject({ name: 'data', location: 'm2' });
    },
  );
});
