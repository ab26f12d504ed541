// A member with a full disk accepts no changes: containers are created on the others, and the list of members says why.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: a cluster member with a full disk: mounting a small one needs root');

describe.skipIf(!isRoot || etcdMissing() !== undefined)('a member with a full disk', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  let disk: string;
  beforeAll(async () => {
    cluster = await makeCluster(2);
    [one, two] = cluster.members as [TestMember, TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
    // This directory is unused, since the records of this cluster are in etcd.
    disk = join(two.dir, 'database');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    writeFileSync(join(disk, 'filling'), Buffer.alloc(1024 * 1024));
  });
  afterAll(async () => {
    execFileSync('umount', ['-l', disk]);
    await cluster.cleanUp();
  });

  const statusOf = async (): Promise<{ readonly message: string }> => await one.get('/1.0/cluster/members/m2');
  const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
  const create = (name: string, query = '', asked = one) =>
    asked.call('POST', `/1.0/containers${query}`, { name, source: { type: 'none' }, devices });

  test('reports it to the others, and in a warning', async () => {
    await until(async () => (await statusOf()).message.includes('is full: this member takes no changes'));
    expect(await one.get('/1.0/cluster/members/m1')).toMatchObject({ message: 'Fully operational' });
  });

  test('has a warning that the other members show while the disk is full', async () => {
    const warnings = async () => (await one.get('/1.0/warnings?recursion=1')) as Record<string, string>[];
    await until(async () =>
      (await warnings()).some(({ type, location }) => type === 'Disk of the server full' && location === 'm2'),
    );
  });

  test('is not chosen for containers, even if it gets the request', async () => {
    for (const [index, asked] of [one, two, one, two].entries()) {
      const answer = await create(`c${index}`, '', asked);
      expect([answer.status, answer.metadata]).toMatchObject([202, {}]);
      await one.wait(answer.body.operation as string);
      expect(await one.get(`/1.0/containers/c${index}`)).toMatchObject({ location: 'm1' });
    }
  });

  test('is refused as a target with the reason', async () => {
    const refused = await create('late', '?target=m2');
    expect([refused.status, JSON.stringify(refused.metadata)]).toEqual([
      400,
      expect.stringContaining('m2 is read-only: its disk is full'),
    ]);
  });

  test('accepts containers again when there is room', async () => {
    rmSync(join(disk, 'filling'));
    await until(async () => (await statusOf()).message === 'Fully operational');
    expect((await create('back', '?target=m2')).status).toBe(202);
  });
});
