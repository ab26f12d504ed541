// Settings and members of a running cluster change: the offline threshold, addresses, a member that leaves by itself.
import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { callTls, makeClient } from '../../support/daemons/tls.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('a cluster that runs', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  beforeAll(async () => {
    cluster = await makeCluster(2);
    const [first, second] = cluster.members;
    if (first === undefined || second === undefined) throw new Error('the cluster has no two members');
    [one, two] = [first, second];
  });
  afterAll(() => cluster.cleanUp());

  /** The time to live of each member's lease in seconds. */
  const timesToLive = (): number[] => {
    const text = cluster.etcd.ctl('lease', 'list');
    const leases = text.split('\n').filter((line) => /^[0-9a-f]{16}$/.test(line));
    return leases
      .map((lease) => cluster.etcd.ctl('lease', 'timetolive', lease, '--keys'))
      .filter((line) => line.includes('signals/present/'))
      .map((line) => Number(/granted with TTL\((\d+)s\)/.exec(line)?.[1]));
  };
  const statuses = async () =>
    ((await one.get('/1.0/cluster/members?recursion=1')) as { status: string }[]).map(({ status }) => status);
  const refusal = async (member: TestMember, config: Record<string, string>): Promise<string> => {
    const answer = await member.call('PATCH', '/1.0', { config });
    expect(answer.status).toBe(400);
    return answer.bytes.toString();
  };

  test('cluster.offline_threshold takes effect at once on every member, and none goes offline', async () => {
    expect(timesToLive()).toEqual([20, 20]);
    const seen = new Set<string>();
    const events = await one.listen('lifecycle');
    await two.call('PATCH', '/1.0', { config: { 'cluster.offline_threshold': '45' } });
    await until(async () => {
      (await statuses()).forEach((status) => seen.add(status));
      return timesToLive().join() === '45,45';
    });
    for (let n = 0; n < 10; n += 1) (await statuses()).forEach((status) => seen.add(status));
    expect([...seen]).toEqual(['Online']);
    events.close();
    await one.call('PATCH', '/1.0', { config: { 'cluster.offline_threshold': null } });
    await until(() => timesToLive().join() === '20,20');
    expect(await refusal(one, { 'cluster.offline_threshold': '4' })).toContain('cluster.offline_threshold');
  });

  test('a member answers the request that changes its address before it switches', async () => {
    const free = async () => `127.0.0.1:${await freePort()}`;
    const wanted = [await free(), await free(), two.address, '', two.address, ''];
    for (const address of wanted) {
      const changed = await one.call('PATCH', '/1.0?target=m2', { config: { 'core.https_address': address } });
      expect([address, changed.status, changed.bytes.toString()]).toEqual([address, 200, expect.anything()]);
      const shown = await one.call('GET', '/1.0?target=m2');
      expect([address, shown.status, shown.bytes.toString()]).toEqual([address, 200, expect.anything()]);
      expect(shown.metadata.config['core.https_address'] ?? '').toBe(address);
      expect((await one.get('/1.0/cluster/members/m2')).status).toBe('Online');
    }
  });

  test('a client that deletes its own certificate gets the answer before its connection ends', async () => {
    await one.call('PATCH', '/1.0', { config: { 'core.https_address': `127.0.0.1:${await freePort()}` } });
    const address = String((await one.get('/1.0')).config['core.https_address']);
    for (let round = 0; round < 4; round += 1) {
      const client = await makeClient();
      const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
      expect((await two.call('POST', '/1.0/certificates', { type: 'client', certificate })).status).toBe(200);
      await until(async () => (await callTls(address, 'GET', '/1.0/profiles', undefined, { client })).status === 200);
      const agent = new Agent({ keepAlive: true });
      const path = `/1.0/certificates/${client.fingerprint}`;
      const { status, headers } = await callTls(address, 'DELETE', path, undefined, { client, agent });
      expect([round, status, headers.connection]).toEqual([round, 202, 'close']);
      agent.destroy();
      expect((await callTls(address, 'GET', '/1.0/profiles', undefined, { client })).status).toBe(403);
    }
    await one.call('PATCH', '/1.0', { config: { 'core.https_address': '' } });
  });

  test('a change of settings ends no connection of another member', async () => {
    for (let round = 0; round < 3; round += 1) {
      const changed = await one.call('PATCH', '/1.0?target=m2', { config: { 'user.round': String(round) } });
      expect([round, changed.status, changed.bytes.toString()]).toEqual([round, 200, expect.anything()]);
    }
  });

  test('cluster.max_voters is an odd number', async () => {
    for (const wrong of ['1', '2', '4', '9', 'x'])
      expect([wrong, await refusal(one, { 'cluster.max_voters': wrong })]).toEqual([
        wrong,
        expect.stringContaining('odd number of at least 3'),
      ]);
    expect((await one.call('PATCH', '/1.0', { config: { 'cluster.max_voters': '5' } })).status).toBe(200);
    expect((await two.get('/1.0')).config).toMatchObject({ 'cluster.max_voters': '5' });
  });

  test('the address of a member cannot change', async () => {
    expect(await refusal(two, { 'cluster.https_address': '127.0.0.1:1' })).toContain(
      `the other members reach m2 at ${two.address}`,
    );
    const same = await two.call('PATCH', '/1.0', { config: { 'cluster.https_address': two.address } });
    expect([same.status, same.bytes.toString()]).toEqual([200, expect.any(String)]);
  });

  test('each member shows its address, takes it back from clients that change another key, and forgets it when it leaves', async () => {
    for (const member of cluster.members) {
      const { headers, metadata } = await member.call('GET', '/1.0');
      expect(metadata.config).toMatchObject({ 'cluster.https_address': member.address });
      const config = { ...metadata.config, 'user.rack': '7' };
      const put = await member.call('PUT', '/1.0', { config }, { 'if-match': String(headers.etag) });
      expect([put.status, put.bytes.toString()]).toEqual([200, expect.any(String)]);
    }
    expect((await one.call('GET', '/1.0?target=m2')).metadata.config['cluster.https_address']).toBe(two.address);
  });

  test('a member that gets the request to remove itself leaves, and its client gets the answer', async () => {
    await two.ok('DELETE', '/1.0/cluster/members/m2');
    expect(await one.get('/1.0/cluster/members')).toEqual(['/1.0/cluster/members/m1']);
    expect(await two.get('/1.0/cluster')).toMatchObject({ enabled: false });
    expect((await two.get('/1.0')).config).not.toHaveProperty('cluster.https_address');
    const last = await one.call('DELETE', '/1.0/cluster/members/m1');
    expect([last.status, last.bytes.toString()]).toEqual([400, expect.stringContaining('the only one of its cluster')]);
  });
});

test.skipIf(etcdMissing() !== undefined)(
  'a member without etcd installed keeps no copy of the records, and every member shows why',
  async () => {
    const pair = await makeCluster(2, 'own', (name) => (name === 'm2' ? { etcdPath: '/none/etcd' } : {}));
    try {
      const [first, second] = pair.members;
      await until(() => second?.logged.some((line) => line.includes('/none/etcd')) === true);
      // Members publish their warnings with a changed threshold, and every 15 s.
      await first?.call('PATCH', '/1.0', { config: { 'cluster.offline_threshold': '30' } });
      await until(async () =>
        String(await first?.get('/1.0/cluster/members/m2').then(({ message }) => message)).includes('/none/etcd'),
      );
      expect((await first?.get('/1.0/cluster/members/m2')) ?? {}).toMatchObject({
        message: expect.stringMatching(/keeps no copy of the records.*cannot run/),
      });
      expect(await first?.get('/1.0/cluster/members/m1')).toMatchObject({ message: 'Fully operational' });
      expect((await first?.call('POST', '/1.0/profiles', { name: 'x' }))?.status).toBe(200);
    } finally {
      // The only etcd is that of the first member.
      await pair.members[1]?.stop();
      await pair.cleanUp();
    }
  },
);

test('a host without etcd cannot form a cluster, and says what to install or configure', async () => {
  const host = await makeDaemon({ etcdPath: '/none/etcd' });
  onTestFinished(() => host.cleanUp());
  const address = `127.0.0.1:${await freePort()}`;
  const body = { server_name: 'one', enabled: true, server_address: address };
  const { status, err } = await host.run('PUT', '/1.0/cluster', body);
  expect([status, err]).toEqual(['Failure', expect.stringMatching(/cannot run \/none\/etcd.*--cluster-store/s)]);
  expect(await host.get('/1.0/cluster')).toMatchObject({ enabled: false });
});
