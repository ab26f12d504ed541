// Settings and groups of members through the API and lxc, and their effect on placement.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const noLxc = clientMissing('lxc');
if (noLxc !== undefined) console.log(`skipped: groups of a cluster by lxc: ${noLxc}`);

describe.skipIf(etcdMissing() !== undefined)('members and their groups', () => {
  let cluster: TestCluster;
  let [one, two] = [] as unknown as [TestMember, TestMember];
  const work = tempFolder('gtcg-');
  const member = '/1.0/cluster/members';
  const group = '/1.0/cluster/groups';

  beforeAll(async () => {
    cluster = await makeCluster(3, 1, (name) => ({ lxd: { socket: join(work, name, 'unix.socket') } }));
    [one, two] = cluster.members as [TestMember, TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  });
  afterAll(() => cluster.cleanUp());

  const send = async (method: string, path: string, body?: object, headers = {}) => {
    const { status, bytes } = await two.call(method, path, body, headers);
    return [status, bytes.toString()];
  };
  const ok = async (method: string, path: string, body?: object): Promise<void> => {
    expect(await send(method, path, body)).toEqual([expect.toBeOneOf([200, 204]), expect.anything()]);
  };
  let count = 0;
  /** Returns the member of a new container. */
  const placed = async (target: string): Promise<string> => {
    const name = `p${(count += 1)}`;
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    await one.ok('POST', `/1.0/containers?target=${target}`, { name, source: { type: 'none' }, devices });
    const { location } = await one.get(`/1.0/containers/${name}`);
    await one.ok('DELETE', `/1.0/containers/${name}`);
    return location;
  };

  test('a member has a description and an ETag, and wrong settings are refused with all reasons', async () => {
    const { headers } = await two.call('GET', `${member}/m3`);
    const body = { description: 'in the cellar', failure_domain: 'cellar', config: { 'user.rack': '7' } };
    expect(await send('PUT', `${member}/m3`, body, { 'if-match': String(headers.etag) })).toEqual([
      200,
      expect.anything(),
    ]);
    for (const each of cluster.members)
      expect(await each.get(`${member}/m3`)).toMatchObject({ ...body, groups: ['default'], roles: ['database'] });
    expect(await send('PUT', `${member}/m3`, body, { 'if-match': String(headers.etag) })).toEqual([
      412,
      expect.anything(),
    ]);
    await ok('PATCH', `${member}/m3`, { config: { 'scheduler.instance': 'manual', 'user.rack': '' } });
    expect(await one.get(`${member}/m3`)).toMatchObject({
      description: 'in the cellar',
      config: { 'scheduler.instance': 'manual' },
    });
    const wrong = { config: { 'scheduler.instance': 'never', size: '1' }, roles: ['ovn-chassis'], groups: ['nowhere'] };
    const refused = await two.call('PATCH', `${member}/m3`, wrong);
    expect(refused.status).toBe(400);
    for (const path of ['config.scheduler.instance', 'config.size', 'roles', 'groups'])
      expect(refused.bytes.toString()).toContain(path);
    for (const roles of [[], ['database', 'event-hub']])
      expect(await send('PATCH', `${member}/m3`, { roles })).toEqual([
        400,
        expect.stringContaining('this one has database'),
      ]);
    expect((await two.call('PUT', `${member}/m9`, {})).status).toBe(404);
    expect(await placed('m3')).toBe('m3');
    expect([await placed(''), await placed(''), await placed('')]).not.toContain('m3');
    await ok('PATCH', `${member}/m3`, { config: { 'scheduler.instance': '' } });
  });

  test('groups are made, changed, renamed and deleted, and a target names them', async () => {
    await ok('POST', group, { name: 'fast', description: 'with disks', members: ['m2'] });
    expect(await one.get(group)).toEqual([`${group}/default`, `${group}/fast`]);
    expect(await one.get(`${group}/fast`)).toEqual({ name: 'fast', description: 'with disks', members: ['m2'] });
    expect(await one.get(`${member}/m2`)).toMatchObject({ groups: ['default', 'fast'] });
    expect(await placed('@fast')).toBe('m2');
    await ok('PUT', `${group}/fast`, { description: 'other', members: ['m3'] });
    expect(await placed('@fast')).toBe('m3');
    await ok('PATCH', `${group}/default`, { members: ['m1', 'm2'] });
    expect(await one.get(`${member}/m3`)).toMatchObject({ groups: ['fast'] });
    expect(await send('PATCH', `${group}/fast`, { members: [] })).toEqual([
      400,
      expect.stringContaining('must have m3, which is in no other group'),
    ]);
    await ok('PATCH', `${member}/m3`, { config: { 'scheduler.instance': 'group' } });
    expect([await placed(''), await placed(''), await placed('')]).not.toContain('m3');
    expect(await placed('@fast')).toBe('m3');
    await ok('POST', `${group}/fast`, { name: 'quick' });
    expect(await one.get(`${member}/m3`)).toMatchObject({ groups: ['quick'] });
    expect(await send('DELETE', `${group}/quick`)).toEqual([400, expect.stringContaining('m3')]);
    expect(await send('DELETE', `${group}/default`)).toEqual([403, expect.stringContaining('cannot be deleted')]);
    expect(await send('POST', `${group}/default`, { name: 'x' })).toEqual([403, expect.stringContaining('renamed')]);
    for (const name of ['', '@x', 'a/b', 'a b'])
      expect(await send('POST', group, { name })).toEqual([400, expect.anything()]);
    expect(await send('POST', group, { name: 'quick' })).toEqual([409, expect.anything()]);
    expect(await send('POST', group, { name: 'new', members: ['m7'] })).toEqual([400, expect.stringContaining('m7')]);
    for (const method of ['PUT', 'PATCH'])
      expect(await send(method, `${member}/m3`, { groups: [] })).toEqual([400, expect.stringContaining('at least')]);
    await ok('PATCH', `${member}/m3`, { groups: ['default'], config: { 'scheduler.instance': '' } });
    await ok('DELETE', `${group}/quick`);
    expect(await one.get(group)).toEqual([`${group}/default`]);
  });

  test('a container that was made in a group leaves an evacuated member for another one of that group', async () => {
    await ok('POST', group, { name: 'pair', description: '', members: ['m1', 'm2'] });
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    // Without the group it would go to the emptiest member, which is the third.
    for (const name of ['filling1', 'filling2'])
      await one.ok('POST', '/1.0/containers?target=m1', { name, source: { type: 'none' }, devices });
    await one.ok('POST', '/1.0/containers?target=@pair', { name: 'paired', source: { type: 'none' }, devices });
    expect(await one.get('/1.0/containers/paired')).toMatchObject({
      location: 'm2',
      config: { 'volatile.cluster.group': 'pair' },
    });
    await one.ok('POST', `${member}/m2/state`, { action: 'evacuate' });
    expect(await one.get('/1.0/containers/paired')).toMatchObject({ location: 'm1' });
    await one.ok('POST', `${member}/m2/state`, { action: 'restore' });
    expect(await one.get('/1.0/containers/paired')).toMatchObject({ location: 'm2' });
    for (const name of ['filling1', 'filling2', 'paired']) await one.ok('DELETE', `/1.0/containers/${name}`);
    for (const name of ['m1', 'm2']) await ok('PATCH', `${member}/${name}`, { groups: ['default'] });
    await ok('DELETE', `${group}/pair`);
  });

  test.skipIf(noLxc !== undefined)(
    'lxc sets keys of members, and makes, assigns, lists, renames and deletes groups',
    async () => {
      const lxc = lxcClient(join(work, 'm1'), work);
      await lxc('cluster', 'set', 'm2', 'scheduler.instance', 'manual');
      expect(await lxc('cluster', 'get', 'm2', 'scheduler.instance')).toBe('manual\n');
      await lxc('cluster', 'unset', 'm2', 'scheduler.instance');
      await lxc('cluster', 'group', 'create', 'gpu');
      await lxc('cluster', 'group', 'assign', 'm1', 'gpu,default');
      expect(await lxc('cluster', 'group', 'show', 'gpu')).toContain('- m1');
      expect(await lxc('cluster', 'group', 'list', '-f', 'csv')).toContain('gpu');
      await lxc('cluster', 'group', 'remove', 'm1', 'gpu');
      await lxc('cluster', 'group', 'rename', 'gpu', 'graphics');
      const edited = await lxc.run(['cluster', 'group', 'edit', 'graphics'], {
        stdin: 'description: cards\nmembers: [m3]\n',
      });
      expect([edited.code, edited.stderr]).toEqual([0, '']);
      expect(await one.get(`${group}/graphics`)).toMatchObject({ description: 'cards', members: ['m3'] });
      const member3 = await lxc.run(['cluster', 'edit', 'm3'], {
        stdin: 'groups: [default]\nfailure_domain: attic\nconfig: {}\n',
      });
      expect([member3.code, member3.stderr]).toEqual([0, '']);
      expect(await one.get(`${member}/m3`)).toMatchObject({ failure_domain: 'attic', groups: ['default'] });
      await lxc('cluster', 'group', 'delete', 'graphics');
    },
  );
});
