// Per-member keys of pools and networks: a joining host brings its own, and a request with a target changes only those.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../../support/cli/io.ts';
import { makeCluster, type TestCluster, type TestMember, tokenOf } from '../../../support/cluster/members.ts';
import { makeDaemon, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { callTls, makeClient } from '../../../support/daemons/tls.ts';
import { freePort } from '../../../support/hosts/free-port.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

describe.skipIf(etcdMissing() !== undefined)('keys of single members', () => {
  let cluster: TestCluster;
  let [one, two] = [] as unknown as [TestMember, TestMember];
  const work = tempFolder('gtmc-');
  const hosts: TestDaemon[] = [];

  beforeAll(async () => {
    cluster = await makeCluster(2);
    [one, two] = cluster.members as unknown as [TestMember, TestMember];
    for (const name of ['one', 'two', 'three']) mkdirSync(join(work, name));
    const overrides = { m1: { source: join(work, 'one') }, m2: { source: join(work, 'two') } };
    const pool = { name: 'fast', driver: 'dir', member_overrides: overrides };
    expect((await one.call('POST', '/1.0/storage-pools', pool)).status).toBe(200);
    const network = { name: 'gtmc0', config: { 'ipv4.address': 'none', 'ipv6.address': 'none' } };
    expect((await one.call('POST', '/1.0/networks', network)).status).toBe(200);
  });
  afterAll(async () => {
    for (const host of hosts) await host.cleanUp();
    await cluster.cleanUp();
  });

  const asked = { entity: 'storage-pool', name: 'fast', key: 'source' };
  async function hostFor(name: string) {
    const host = await makeDaemon();
    hosts.push(host);
    const { body } = await one.call('POST', '/1.0/cluster/members', { server_name: name });
    const token = tokenOf(body.metadata.metadata as Record<string, unknown>);
    const sent = { server_name: name, enabled: true, server_address: `127.0.0.1:${await freePort()}` };
    return { host, token, sent: { ...sent, cluster_token: token } };
  }

  test('the cluster lists the keys that a joining host must set, without values of others, and only to trusted clients', async () => {
    const member_config = [{ ...asked, value: '', description: '"source" property for storage pool "fast"' }];
    for (const member of cluster.members) expect(await member.get('/1.0/cluster')).toMatchObject({ member_config });
    const stranger = await callTls(one.address, 'GET', '/1.0/cluster', undefined, { client: await makeClient() });
    expect(stranger.metadata).toEqual({ server_name: 'm1', enabled: true, member_config: [] });
  });

  test('invalid values are refused all at once, and the token stays valid', async () => {
    const { host, sent } = await hostFor('m3');
    const wrong = [
      { ...asked, entity: 'disk', value: 'x' },
      { ...asked, key: 'size', value: '1GiB' },
      { ...asked, key: 'rsync.bwlimit', value: '1' },
      { entity: 'network', name: '', key: 'bridge.external_interfaces', value: 'eth1' },
    ];
    const refused = await host.call('PUT', '/1.0/cluster', { ...sent, member_config: wrong });
    expect([refused.status, refused.body.metadata.details]).toEqual([
      400,
      [
        { path: 'member_config.0.entity', message: 'must be storage-pool or network, is "disk"' },
        { path: 'member_config.2.key', message: expect.stringContaining('"rsync.bwlimit" is not a key') },
        { path: 'member_config.3.name', message: 'must name the network' },
      ],
    ]);
    const unknown = [{ ...asked, name: 'slow', value: '/x' }];
    const ended = await host.run('PUT', '/1.0/cluster', { ...sent, member_config: unknown });
    expect(ended.err).toContain('names the storage pool slow, which the cluster does not have');
    expect(await host.get('/1.0/cluster')).toMatchObject({ enabled: false });
    const member_config = [{ ...asked, value: join(work, 'three') }];
    await host.ok('PUT', '/1.0/cluster', { ...sent, member_config });
    expect((await one.get('/1.0/storage-pools/fast?target=m3')).config).toEqual({ source: join(work, 'three') });
    expect(existsSync(join(work, 'three', 'containers'))).toBe(true);
  });

  test('gantry cluster join accepts them, and names missing ones', async () => {
    const { host, token } = await hostFor('m4');
    const join_ = async (...more: string[]) =>
      cli(['cluster', 'join', token, '--address', `127.0.0.1:${await freePort()}`, ...more], {
        env: { GANTRY_HOST: `unix://${host.socketPath}` },
      });
    expect(await join_('--member-config', 'fast.source=/x')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('storage_pool/NAME/KEY=VALUE'),
    });
    const missing = join(work, 'missing');
    const joined = await join_('--member-config', `storage_pool/fast/source=${missing}`);
    expect([joined.code, joined.stderr]).toEqual([0, expect.stringContaining(missing)]);
    expect(joined.stderr).toContain('The storage pool fast of the cluster is not as defined on this member');
    expect((await one.get('/1.0/cluster/members/m4')).message).toContain(missing);
  });

  test('only keys of the target change, and the locations of a pool are its members', async () => {
    for (const [path, key] of [
      ['/1.0/storage-pools/fast', 'rsync.bwlimit'],
      ['/1.0/networks/gtmc0', 'dns.domain'],
    ] as const) {
      for (const [method, sent] of [
        ['PATCH', { config: { [key]: '1' } }],
        ['PUT', { config: { [key]: '1' }, description: '' }],
      ] as const) {
        const refused = await two.call(method, `${path}?target=m1`, sent);
        expect([refused.status, refused.bytes.toString()]).toEqual([
          400,
          expect.stringContaining(`config.${key}: is the same on all members: change it without target`),
        ]);
      }
      const described = await two.call('PATCH', `${path}?target=m2`, { description: 'here only' });
      expect([described.status, described.bytes.toString()]).toEqual([400, expect.stringContaining('description')]);
      expect((await two.get(`${path}?target=m1`)).locations).toEqual(expect.arrayContaining(['m1', 'm2']));
    }
    const same = await two.get('/1.0/storage-pools/fast?target=m1');
    expect((await two.call('PUT', '/1.0/storage-pools/fast?target=m1', { config: same.config })).status).toBe(200);
  });

  test('a group is refused in place of a member', async () => {
    for (const [method, path] of [
      ['GET', '/1.0/storage-pools/fast'],
      ['GET', '/1.0/networks/gtmc0/state'],
      ['PATCH', '/1.0/networks/gtmc0'],
      ['GET', '/1.0/resources'],
      ['POST', '/1.0/networks'],
    ] as const) {
      const refused = await two.call(method, `${path}?target=@default`, method === 'GET' ? undefined : { name: 'x' });
      expect([path, refused.status, refused.bytes.toString()]).toEqual([
        path,
        400,
        expect.stringContaining('The target @default is a group'),
      ]);
    }
  });
});
