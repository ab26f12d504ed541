// A member that runs an etcd of its cluster leaves: the others keep the records without it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readMembership } from '../../../server/membership/membership.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('leaving a cluster whose members run the etcds', () => {
  let cluster: TestCluster;
  let [one, two, three]: readonly TestMember[] = [];
  beforeAll(async () => {
    cluster = await makeCluster(3, 'own');
    [one, two, three] = cluster.members;
    const storeOf = async (member: TestMember) => (await readMembership(member.dir))?.store.address ?? '';
    for (const member of cluster.members)
      await until(async () => (await storeOf(member)).split(',').length === 3, 90_000);
  });
  afterAll(() => cluster.cleanUp());

  test('one of three leaves: its etcd ends, and the other two write on', async () => {
    await one?.ok('DELETE', '/1.0/cluster/members/m3');
    expect(await three?.get('/1.0/cluster')).toMatchObject({ enabled: false });
    await until(() => !existsSync(join(three?.dir ?? '', 'cluster', 'etcd')));
    expect((await two?.call('POST', '/1.0/profiles', { name: 'after' }))?.status).toBe(200);
    expect(await one?.get('/1.0/profiles')).toContain('/1.0/profiles/after');
    expect(await three?.get('/1.0/profiles')).not.toContain('/1.0/profiles/after');
  });
});
