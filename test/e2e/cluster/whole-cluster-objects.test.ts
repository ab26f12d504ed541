// Pools, networks and profiles of a whole cluster: one request creates them on every member, or on none.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('objects of a whole cluster', () => {
  let cluster: TestCluster;
  let [one, two, three]: readonly TestMember[] = [];
  const names = ['m1', 'm2', 'm3'];

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two, three] = cluster.members;
  });
  afterAll(() => cluster.cleanUp());

  const root = (pool: string) => ({ root: { type: 'disk', path: '/', pool } });

  test('one request makes a pool on every member; keys of single members show with target only', async () => {
    const created = await one?.call('POST', '/1.0/storage-pools', {
      name: 'fast',
      driver: 'dir',
      config: { 'rsync.bwlimit': '5MB' },
    });
    expect(created?.status).toBe(200);
    for (const member of cluster.members) {
      const pool = await member.get('/1.0/storage-pools/fast');
      expect(pool).toMatchObject({ status: 'Created', locations: names, config: { 'rsync.bwlimit': '5MB' } });
      expect(pool.config).not.toHaveProperty('source');
    }
    const of = await one?.get('/1.0/storage-pools/fast?target=m2');
    expect(of.config.source).toContain(two?.dir);
  });

  test('a change reaches every member, and a deletion is refused while a container of any member uses it', async () => {
    const patched = await two?.call('PATCH', '/1.0/storage-pools/fast', { config: { 'rsync.bwlimit': '7MB' } });
    expect(patched?.status).toBe(200);
    for (const member of cluster.members)
      expect((await member.get('/1.0/storage-pools/fast')).config).toEqual({ 'rsync.bwlimit': '7MB' });
    const shown = await three?.call('GET', '/1.0/storage-pools/fast');
    const etag = String(shown?.headers.etag);
    const body = { config: { 'rsync.bwlimit': '8MB' }, description: 'fast one' };
    expect((await one?.call('PUT', '/1.0/storage-pools/fast', body, { 'if-match': etag }))?.status).toBe(200);
    expect(await two?.get('/1.0/storage-pools/fast')).toMatchObject(body);
    await three?.ok('POST', '/1.0/containers?target=m3', {
      name: 'user',
      source: { type: 'none' },
      devices: root('fast'),
    });
    const refused = await one?.call('DELETE', '/1.0/storage-pools/fast');
    expect([refused?.status, refused?.metadata.message]).toEqual([
      400,
      'The storage pool fast is in use by container user',
    ]);
    await one?.ok('DELETE', '/1.0/containers/user');
    expect((await one?.call('DELETE', '/1.0/storage-pools/fast'))?.status).toBe(200);
    for (const member of cluster.members) expect(await member.get('/1.0/storage-pools')).toEqual([]);
  });

  test('member_overrides give single members their own config, and an error on one member creates the object on none', async () => {
    const broken = await one?.call('POST', '/1.0/storage-pools', {
      name: 'own',
      driver: 'dir',
      member_overrides: { m2: { source: 'relative' } },
    });
    expect([broken?.status, broken?.bytes.toString()]).toEqual([400, expect.stringContaining('m2')]);
    for (const member of cluster.members) expect(await member.get('/1.0/storage-pools')).toEqual([]);
    for (const overrides of [{ nobody: {} }, { m2: { 'rsync.bwlimit': '1MB' } }]) {
      const refused = await one?.call('POST', '/1.0/storage-pools', {
        name: 'own',
        driver: 'dir',
        member_overrides: overrides,
      });
      expect(refused?.status).toBe(400);
    }
  });

  test('clients of LXD define the pool on each member first, and it is Pending until the last request', async () => {
    for (const name of names) {
      const answer = await one?.call('POST', `/1.0/storage-pools?target=${name}`, { name: 'phased', driver: 'dir' });
      expect(answer?.status).toBe(200);
    }
    expect(await two?.get('/1.0/storage-pools/phased')).toMatchObject({ status: 'Pending', locations: names });
    expect((await two?.call('POST', '/1.0/storage-pools', { name: 'phased', driver: 'dir' }))?.status).toBe(200);
    expect(await three?.get('/1.0/storage-pools/phased')).toMatchObject({ status: 'Created', locations: names });
    // The client sends an empty type unless one is named.
    const network = { name: 'phased', type: '' };
    expect((await one?.call('POST', '/1.0/networks?target=m1', network))?.status).toBe(200);
    const typed = { ...network, type: 'bridge' };
    for (const name of ['m2', 'm3'])
      expect((await one?.call('POST', `/1.0/networks?target=${name}`, typed))?.status).toBe(200);
    expect(await two?.get('/1.0/networks/phased')).toMatchObject({ status: 'Pending', type: 'bridge' });
    const early = [
      'PATCH /1.0/networks/phased',
      'PATCH /1.0/networks/phased?target=m2',
      'GET /1.0/networks/phased/state',
    ];
    for (const [method = '', url = ''] of early.map((request) => request.split(' '))) {
      const refused = await one?.call(method, url, method === 'GET' ? undefined : { config: { 'user.a': 'b' } });
      expect([refused?.status, refused?.metadata.message]).toEqual([
        400,
        expect.stringContaining('The network phased is defined on m1, m2, m3 and not created yet'),
      ]);
    }
    expect((await one?.call('DELETE', '/1.0/networks/phased'))?.status).toBeLessThan(300);
  });

  test('a pool that clients of LXD defined on some members only is refused, with the names of the others', async () => {
    const body = { name: 'partial', driver: 'dir' };
    for (const name of ['m1', 'm3'])
      expect((await one?.call('POST', `/1.0/storage-pools?target=${name}`, body))?.status).toBe(200);
    const refused = await one?.call('POST', '/1.0/storage-pools', body);
    expect([refused?.status, refused?.metadata.message]).toEqual([
      400,
      expect.stringContaining('is defined on some members, and not on m2: define it there'),
    ]);
    expect((await one?.call('POST', '/1.0/storage-pools', { ...body, member_overrides: { m2: {} } }))?.status).toBe(
      200,
    );
    expect((await one?.call('DELETE', '/1.0/storage-pools/partial'))?.status).toBeLessThan(300);
  });

  test('a value of single members is not changed for all of them', async () => {
    expect((await one?.call('POST', '/1.0/storage-pools', { name: 'whole', driver: 'dir' }))?.status).toBe(200);
    const whole = await one?.get('/1.0/storage-pools/whole?target=m1');
    for (const method of ['PUT', 'PATCH']) {
      const refused = await one?.call(method, '/1.0/storage-pools/whole', { config: { source: '/elsewhere' } });
      expect([refused?.status, refused?.metadata.message]).toEqual([
        400,
        expect.stringContaining('config.source: is a value of each member: send it with target'),
      ]);
    }
    expect((await one?.call('PUT', '/1.0/storage-pools/whole', { config: whole.config }))?.status).toBe(200);
    expect((await one?.call('DELETE', '/1.0/storage-pools/whole'))?.status).toBeLessThan(300);
  });

  test('a network has the same subnet on every member', async () => {
    const config = { 'ipv4.address': 'auto', 'ipv6.address': 'none' };
    expect((await two?.call('POST', '/1.0/networks', { name: 'net0', config }))?.status).toBe(200);
    const subnets = await Promise.all(
      cluster.members.map(async (member) => (await member.get('/1.0/networks/net0')).config['ipv4.address'] as string),
    );
    expect(new Set(subnets).size).toBe(1);
    expect(subnets[0]).toMatch(/^10\./);
  });

  test('a profile changed at one member is applied to running containers of another, and is neither deleted nor renamed while used there', async () => {
    await one?.call('POST', '/1.0/profiles', { name: 'web', config: { 'limits.memory': '100MB' } });
    const body = { name: 'c9', profiles: ['web'], source: { type: 'none' }, devices: root('phased') };
    await two?.ok('POST', '/1.0/containers?target=m2', body);
    await two?.ok('PUT', '/1.0/containers/c9/state', { action: 'start', timeout: 5 });
    await one?.call('PUT', '/1.0/profiles/web', { config: { 'limits.memory': '200MB' } });
    await until(() => two?.sim.limits('c9')?.['limits.memory'] === '200MB');
    expect(await three?.get('/1.0/profiles/web')).toMatchObject({ used_by: ['/1.0/containers/c9'] });
    expect((await three?.call('DELETE', '/1.0/profiles/web'))?.status).toBe(400);
    const renamed = await three?.call('POST', '/1.0/profiles/web', { name: 'site' });
    expect([renamed?.status, renamed?.metadata]).toMatchObject([
      400,
      { message: expect.stringMatching(/other cluster members use it \(c9\)\. Make a profile with the new name/) },
    ]);
    await three?.ok('PUT', '/1.0/containers/c9/state', { action: 'stop', timeout: 5, force: true });
    await three?.ok('DELETE', '/1.0/containers/c9');
  });

  test('a joining host gets all of them', async () => {
    const four = await cluster.add('m4');
    expect(await four.get('/1.0/storage-pools')).toEqual(['/1.0/storage-pools/phased']);
    expect(await one?.get('/1.0/networks/net0')).toMatchObject({ locations: [...names, 'm4'] });
  });

  test('an offline member catches up on created, changed and deleted objects when it is back', async () => {
    const four = cluster.members[3] as TestMember;
    const made = async (member: TestMember | undefined, kind: string): Promise<string[]> =>
      (((await member?.get(`/1.0/${kind}`)) ?? []) as string[]).map((url) => url.replace(`/1.0/${kind}/`, ''));
    const network = { name: 'gone', type: 'bridge', config: { 'ipv4.address': 'none', 'ipv6.address': 'none' } };
    expect((await one?.call('POST', '/1.0/networks', network))?.status).toBe(200);
    expect(await made(four, 'networks')).toContain('gone');
    await four.stop();
    await until(async () => {
      const members = (await one?.get('/1.0/cluster/members?recursion=1')) as { status: string }[];
      return members.at(-1)?.status === 'Offline';
    });
    const later = { name: 'later', driver: 'dir', description: 'before', member_overrides: {} };
    expect((await one?.call('POST', '/1.0/storage-pools', later))?.status).toBe(200);
    expect((await two?.call('PATCH', '/1.0/storage-pools/later', { description: 'after' }))?.status).toBe(200);
    expect((await one?.call('PATCH', '/1.0/networks/net0', { description: 'changed' }))?.status).toBe(200);
    expect((await three?.call('DELETE', '/1.0/networks/gone'))?.status).toBeLessThan(300);
    expect(await made(one, 'networks')).not.toContain('gone');
    expect(await one?.get('/1.0/storage-pools/later')).toMatchObject({ locations: names });
    // The deleted network still exists on a member.
    const again = await one?.call('POST', '/1.0/networks', network);
    expect(again?.metadata).toMatchObject({ code: 'unavailable', message: expect.stringContaining('is still on m4') });

    await four.restart();
    expect(await made(four, 'networks')).not.toContain('gone');
    expect(await four.get('/1.0/storage-pools/later?target=m4')).toMatchObject({ description: 'after' });
    expect(await four.get('/1.0/networks/net0?target=m4')).toMatchObject({ description: 'changed' });
    expect(await one?.get('/1.0/storage-pools/later')).toMatchObject({ locations: [...names, 'm4'] });
    expect((await one?.call('POST', '/1.0/networks', network))?.status).toBe(200);
    expect(await made(four, 'networks')).toContain('gone');
  });

  test('the name of a deleted object is free once the member that still had it is removed', async () => {
    const four = cluster.members[3] as TestMember;
    await four.stop();
    await until(async () => (await one?.get('/1.0/cluster/members/m4'))?.status === 'Offline');
    expect((await one?.call('DELETE', '/1.0/storage-pools/later'))?.status).toBeLessThan(300);
    await one?.ok('DELETE', '/1.0/cluster/members/m4?force=1');
    expect((await one?.call('POST', '/1.0/storage-pools', { name: 'later', driver: 'dir' }))?.status).toBe(200);
  });
});
