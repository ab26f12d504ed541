// A member whose cluster has no majority is started and stopped again: an administrator who is about to recover the cluster does that first.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readMembership } from '../../../../server/cluster/membership.ts';
import { buildPrograms, type Programs } from '../../../support/cli/programs.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('gantryd without a majority at its start', { timeout: 180_000 }, () => {
  let cluster: TestCluster;
  let programs: Programs;
  let three: TestMember;
  beforeAll(async () => {
    programs = buildPrograms();
    cluster = await makeCluster(3, 'own');
    three = cluster.members[2] as TestMember;
    const storeOf = async (member: TestMember) => (await readMembership(member.dir))?.store.address ?? '';
    for (const member of cluster.members)
      await until(async () => (await storeOf(member)).split(',').length === 3, 90_000);
    await Promise.all(cluster.members.map((member) => member.stop()));
  }, 180_000);
  afterAll(async () => {
    await cluster.cleanUp();
    programs.remove();
  });

  test('ends at once with code 0 when SIGTERM comes while it waits for the store', async () => {
    const child = spawn(process.execPath, [programs.gantryd, '--state-dir', three.dir, '--runtime', 'sim'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const exited = once(child, 'exit');
    try {
      await until(() => log.includes('Waiting for the store of the cluster'), 60_000);
      const asked = performance.now();
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
      expect(performance.now() - asked).toBeLessThan(8_000);
      expect(log).toContain('ends before it has started, as it was asked to');
    } finally {
      child.kill('SIGKILL');
    }
  });
});
