// The host with the only vote of two is lost for good: the other one, a learner, continues alone with its copy.
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEtcd } from '../../../../server/membership/etcd/etcd-program.ts';
import { listMembers, recover } from '../../../../server/daemon/cluster/cluster-tasks.ts';
import { membershipOf } from '../../../../server/daemon/stores/etcd-link.ts';
import { clientOf } from '../../../../server/daemon/stores/etcd-place.ts';
import { readMembership } from '../../../../server/membership/membership.ts';
import { hasOwnCopy } from '../../../../server/daemon/cluster/own-copy.ts';
import { findProgram } from '../../../../server/drivers/runtime/host/programs.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

describe.skipIf(etcdMissing() !== undefined)('a cluster of two members', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  beforeAll(async () => {
    cluster = await makeCluster(2, 'own');
    [one, two] = cluster.members as [TestMember, TestMember];
    await until(() => hasOwnCopy(two.dir), 90_000);
    await one.call('POST', '/1.0/profiles', { name: 'kept', config: { 'user.a': 'b' } });
  });
  afterAll(() => cluster.cleanUp());

  test('shows its members from the copy of the learner, which has all acknowledged changes', async () => {
    const list = async (): Promise<string> => await listMembers({ stateDir: two.dir });
    const { store } = (await readMembership(one.dir)) ?? expect.unreachable();
    const etcds = await membershipOf(store);
    const revisionAt = async ({ address }: TestMember): Promise<number> =>
      (await etcds.statusOf(clientOf(address))).revision;
    // The learner follows asynchronously.
    const acknowledged = await revisionAt(one);
    await until(async () => (await revisionAt(two)) >= acknowledged);
    etcds.close();
    await Promise.all([one.stop(), two.stop()]);
    expect(await list()).toMatch(/m1 .*\n.*m2 .*as the copy on this host/s);
  });

  test('names a missing program for the recovery, and changes nothing', async () => {
    const { path } = await findEtcd();
    const dir = tempFolder('gtrl-');
    symlinkSync(path, join(dir, 'etcd'));
    // setpriv starts etcd so that it ends with its daemon.
    const setpriv = findProgram('setpriv');
    if (setpriv !== undefined) symlinkSync(setpriv, join(dir, 'setpriv'));
    const before = process.env['PATH'];
    process.env['PATH'] = dir;
    try {
      await expect(recover({ stateDir: two.dir })).rejects.toThrow('install it (apt-get install etcd-client)');
    } finally {
      process.env['PATH'] = before;
      rmSync(dir, { recursive: true });
    }
  });

  test('continues on the member whose etcd was a learner, and the lost one is removed', async () => {
    expect(await recover({ stateDir: two.dir })).toContain('m2');
    // A second recovery finds it alone already.
    expect(await recover({ stateDir: two.dir })).toContain('m2');
    await two.restart();
    expect(await two.get('/1.0/profiles/kept')).toMatchObject({ config: { 'user.a': 'b' } });
    expect((await two.call('POST', '/1.0/profiles', { name: 'after' })).status).toBe(200);
    await until(async () => (await two.get('/1.0/cluster/members/m1')).status === 'Offline', 90_000);
    await two.ok('DELETE', '/1.0/cluster/members/m1?force=1');
    expect(await two.get('/1.0/cluster/members')).toEqual(['/1.0/cluster/members/m2']);
  });
});
