// The stock `lxc copy` and `lxc move` between members of a cluster formed as documented, where only the cluster address listens.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { clientMissing, lxcClient } from '../../../support/hosts/lxd-clients.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const missing = clientMissing('lxc') ?? etcdMissing();
if (missing !== undefined) console.log(`skipped: lxc copy in a cluster: ${missing}`);

describe.skipIf(missing !== undefined)('lxc copy --target', () => {
  const work = tempFolder('gtlt-');
  let cluster: TestCluster;
  let one: TestMember;
  let lxc: ReturnType<typeof lxcClient>;

  beforeAll(async () => {
    cluster = await makeCluster(3, 1, (name) => {
      mkdirSync(join(work, name));
      return { lxd: { socket: join(work, name, 'unix.socket') } };
    });
    one = cluster.members[0] as TestMember;
    lxc = lxcClient(join(work, 'm1'), work);
    await one.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    await one.ok('POST', '/1.0/containers?target=m1', {
      name: 'near',
      source: { type: 'none' },
      devices,
      config: { 'user.a': 'b' },
    });
    await one.ok('POST', '/1.0/containers/near/snapshots', { name: 's1' });
    await one.ok('POST', '/1.0/containers?target=m2', { name: 'far', source: { type: 'none' }, devices });
  });
  afterAll(() => cluster.cleanUp());

  const shown = async (name: string) => await one.get(`/1.0/containers/${name}`);

  test('is announced as cluster_internal_copy, and the server names the address of its members', async () => {
    const { api_extensions: extensions, environment } = await one.get('/1.0');
    expect(extensions).toContain('cluster_internal_copy');
    expect(environment.addresses).toEqual([one.address]);
  });

  test('copies a container with its config and snapshots from the contacted member to another one', async () => {
    await lxc('copy', 'near', 'near2', '--target', 'm2');
    expect(await shown('near2')).toMatchObject({ location: 'm2', config: { 'user.a': 'b' } });
    expect(await one.get('/1.0/containers/near2/snapshots')).toHaveLength(1);
    await lxc('copy', 'near/s1', 'near3', '--target', 'm3');
    expect(await shown('near3')).toMatchObject({ location: 'm3' });
  });

  test('copies a container of another member to a third one, to the contacted one, and within its member', async () => {
    for (const target of ['m3', 'm1', 'm2']) {
      await lxc('copy', 'far', `far-${target}`, '--target', target);
      expect(await shown(`far-${target}`)).toMatchObject({ location: target });
    }
    await lxc('copy', 'far', 'far-any');
    expect((await shown('far')).location).toBe('m2');
  });
});
