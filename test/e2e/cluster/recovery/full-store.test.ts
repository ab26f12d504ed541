// An etcd that has raised the alarm NOSPACE grants no lease: the members of a cluster that start then clear the alarm before they continue.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { membershipOf } from '../../../../server/daemon/stores/etcd-link.ts';
import { etcdSettings } from '../../../../server/daemon/stores/store-choice.ts';
import { readMembership, type ClusterStore } from '../../../../server/membership/membership.ts';
import { EtcdLink } from '../../../../server/store/etcd/link.ts';
import { makeCluster, type TestCluster } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('a cluster whose etcd is full', { timeout: 120_000 }, () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await makeCluster(1, 'own');
  }, 60_000);
  afterAll(() => cluster?.cleanUp());

  test('starts again when all of its members were down, and changes work', async () => {
    const [member = expect.unreachable()] = cluster.members;
    const { store = expect.unreachable() } = (await readMembership(member.dir)) ?? {};
    await fill(store);
    const refused = await member.call('POST', '/1.0/profiles', { name: 'refused' });
    expect([refused.status, refused.body.metadata.code]).toEqual([500, 'diskFull']);
    expect(refused.body.metadata.message).toContain('run recover by themselves then');
    await member.restart();
    expect((await member.call('POST', '/1.0/profiles', { name: 'taken' })).status).toBe(200);
  });
});

/** Raises the alarm, as an etcd does that has used up its quota. */
async function fill(store: ClusterStore): Promise<void> {
  const members = await membershipOf(store);
  const link = new EtcdLink(await etcdSettings(store));
  try {
    for (const { id } of await members.list())
      await link.call('Alarm', { action: 'ACTIVATE', memberID: id, alarm: 'NOSPACE' });
  } finally {
    members.close();
    link.close();
  }
}
