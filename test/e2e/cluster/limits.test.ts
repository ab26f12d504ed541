// Limits of projects in a cluster apply to all members together, also when they create at the same moment.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('a limited project in a cluster', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two] = cluster.members as [TestMember, TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  });
  afterAll(() => cluster.cleanUp());

  const rootDisk = { type: 'disk', path: '/', pool: 'default' };
  const project = async (name: string, config: Record<string, string>): Promise<void> => {
    const body = { name, config: { 'features.images': 'false', 'features.profiles': 'false', ...config } };
    expect((await one.call('POST', '/1.0/projects', body)).status).toBe(200);
  };
  const create = async (member: TestMember, of: string, name: string, more: object = {}): Promise<string> => {
    const body = { name, source: { type: 'none' }, devices: { root: rootDisk }, ...more };
    const answer = await member.call('POST', `/1.0/containers?project=${of}&target=${member.name}`, body);
    if (answer.status !== 202) return answer.bytes.toString();
    const ended = await member.wait(answer.body.operation);
    return ended.status === 'Success' ? 'Success' : ended.err;
  };
  const usage = async (member: TestMember, of: string) =>
    (await member.get(`/1.0/projects/${of}/state`)).resources as Record<string, { Usage: number }>;

  test('exactly three of twenty creations at once succeed on three members with three places', async () => {
    await project('race', { 'limits.containers': '3' });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        create(cluster.members[index % 3] as TestMember, 'race', `c${index}`, { source: { type: 'none' } }),
      ),
    );
    expect(results.filter((result) => result === 'Success')).toHaveLength(3);
    for (const result of results.filter((each) => each !== 'Success'))
      expect(result).toMatch(/limits\.containers would be \d+, and the project race has at most 3/);
    expect(await two.get('/1.0/containers?project=race')).toHaveLength(3);
    for (const member of cluster.members)
      expect(await usage(member, 'race')).toMatchObject({ containers: { Limit: 3, Usage: 3 } });
  });

  test('room that one member frees is available at once on another', async () => {
    const [first] = (await one.get('/1.0/containers?project=race')) as string[];
    await one.ok('DELETE', first ?? '');
    expect(await create(two, 'race', 'again')).toBe('Success');
    expect(await create(one, 'race', 'more')).toContain('limits.containers would be 4');
  });

  test('the memory limits of containers on all members count, also after one member changes a profile', async () => {
    await project('sizes', { 'limits.memory': '4GiB' });
    const config = { 'limits.memory': '2GiB' };
    expect(await create(one, 'sizes', 'c1', { config })).toBe('Success');
    expect(await create(two, 'sizes', 'c2', { config: { 'limits.memory': '3GiB' } })).toContain('would be 5GiB');
    const profile = { name: 'small', config: { 'limits.memory': '1GiB' } };
    expect((await one.call('POST', '/1.0/profiles', profile)).status).toBe(200);
    expect(await create(two, 'sizes', 'c2', { profiles: ['small'] })).toBe('Success');
    expect((await usage(one, 'sizes'))['memory']).toMatchObject({ Usage: 3 * 1024 ** 3 });
    const grown = await one.call('PATCH', '/1.0/profiles/small', { config: { 'limits.memory': '3GiB' } });
    expect([grown.status, grown.bytes.toString()]).toEqual([403, expect.stringContaining('would be 5GiB')]);
  });

  test('a limit below the usage of all members is refused, and so is a restriction that another member violates', async () => {
    const lower = await two.call('PATCH', '/1.0/projects/race', { config: { 'limits.containers': '2' } });
    expect([lower.status, lower.bytes.toString()]).toEqual([400, expect.stringContaining('would be 3')]);
    await project('strict', {});
    const config = { 'security.nesting': 'true' };
    expect(await create(one, 'strict', 'nested', { config })).toBe('Success');
    const strict = { config: { restricted: 'true', 'restricted.containers.nesting': 'block' } };
    const restricted = await two.call('PATCH', '/1.0/projects/strict', strict);
    expect([restricted.status, restricted.bytes.toString()]).toEqual([400, expect.stringContaining('nested')]);
  });

  test('is not renamed while another member has objects of it', async () => {
    const renamed = await two.call('POST', '/1.0/projects/strict', { name: 'other' });
    expect([renamed.status, renamed.bytes.toString()]).toEqual([
      400,
      expect.stringContaining('has nested on another member of the cluster'),
    ]);
  });

  test('a limited project in a cluster that is restricted gets no address that a container of another project has on another member', async () => {
    await one.call('POST', '/1.0/networks', { name: 'gtcl0', config: { 'ipv6.address': 'none' } });
    const { config } = await one.get('/1.0/networks/gtcl0?target=m1');
    const address = String(config['ipv4.address']).replace(/\.\d+\/.*$/, '.77');
    const nic = (of: string) => ({
      devices: { root: rootDisk, eth0: { type: 'nic', network: 'gtcl0', 'ipv4.address': of } },
    });
    await project('open', {});
    expect(await create(one, 'open', 'victim', nic(address))).toBe('Success');
    await project('walled', { restricted: 'true', 'restricted.devices.nic': 'managed' });
    const taken = 'a container of another project on network gtcl0 has it';
    expect(await create(two, 'walled', 'thief', nic(address))).toContain(taken);
    expect(await create(two, 'walled', 'thief', nic(address.replace(/77$/, '78')))).toBe('Success');
    const changed = await one.call('PATCH', '/1.0/containers/thief?project=walled', nic(address));
    expect([changed.status, changed.bytes.toString()]).toEqual([400, expect.stringContaining(taken)]);
    // Concurrent creations on all members: only one per round gets the address, and a restricted project only an unused one.
    await project('yard', { restricted: 'true', 'restricted.devices.nic': 'managed' });
    for (let round = 0; round < 8; round += 1) {
      const wanted = nic(address.replace(/77$/, String(100 + round)));
      const [free, ...walled] = await Promise.all([
        create(one, 'open', `r${round}`, wanted),
        create(two, 'walled', `r${round}`, wanted),
        create(cluster.members[2] as TestMember, 'yard', `r${round}`, wanted),
      ]);
      expect(free).toBe('Success');
      expect(walled.filter((result) => result === 'Success').length).toBeLessThan(2);
      for (const result of walled) expect(result === 'Success' || result.includes(taken), result).toBe(true);
    }
  });
});
