// A cluster whose members run etcd themselves: nothing is set up besides gantryd, and the first three members keep the records.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { readMembership } from '../../../server/membership/membership.ts';

describe.skipIf(etcdMissing() !== undefined)('a cluster without an external etcd', () => {
  let cluster: TestCluster;
  let [one, two, three]: readonly TestMember[] = [];

  beforeAll(async () => {
    cluster = await makeCluster(3, 'own');
    [one, two, three] = cluster.members;
  });
  afterAll(() => cluster.cleanUp());

  const storeOf = async (member: TestMember | undefined): Promise<string> =>
    (await readMembership(member?.dir ?? ''))?.store.address ?? '';

  test('three members keep the records, and every member reaches all three', async () => {
    for (const member of cluster.members)
      await until(async () => (await storeOf(member)).split(',').length === 3, 90_000);
  });

  test('one of three may stop: the others keep reading and writing, and it catches up when it is back', async () => {
    await one?.stop();
    const made = await two?.call('POST', '/1.0/profiles', { name: 'after' });
    expect(made?.status, made?.bytes.toString()).toBe(200);
    expect(await three?.get('/1.0/profiles')).toContain('/1.0/profiles/after');
    await one?.restart();
    expect(await one?.get('/1.0/profiles')).toContain('/1.0/profiles/after');
  });

  test('one of three leaves: its etcd ends, and the other two keep writing', async () => {
    await one?.ok('DELETE', '/1.0/cluster/members/m3');
    expect(await three?.get('/1.0/cluster')).toMatchObject({ enabled: false });
    await until(() => !existsSync(join(three?.dir ?? '', 'cluster', 'etcd')));
    expect((await two?.call('POST', '/1.0/profiles', { name: 'without' }))?.status).toBe(200);
    expect(await one?.get('/1.0/profiles')).toContain('/1.0/profiles/without');
    expect(await three?.get('/1.0/profiles')).not.toContain('/1.0/profiles/without');
  });
});
