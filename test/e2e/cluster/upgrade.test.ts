// A rolling upgrade of a cluster: it switches to the new release when all members run it; from then on an older one cannot open the
// records.
import { keysOf } from '../../../server/daemon/stores/keys-of.ts';
import { openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import { SealedStore } from '../../../server/store/sealed.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusOfMember } from '../../../server/membership/member-status.ts';
import type { Member } from '../../../server/membership/members.ts';
import { releaseOfAll } from '../../../server/services/cluster/releases.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

test('the release of the cluster is the lowest one, and unknown if any is unknown', () => {
  expect(releaseOfAll([{ release: '1.10.0' }, { release: '1.9.0' }, { release: '2.0.0' }])).toBe('1.9.0');
  expect(releaseOfAll([{ release: '1.0.0' }, {}])).toBeUndefined();
  expect(releaseOfAll([])).toBeUndefined();
});

test('the message of a member shows its store fault', () => {
  const present = { version: '1.0.0', extensions: 1, warnings: ['etcd is full', 'x'] };
  const member = { name: 'm1', isPresent: true, document: {}, present } as unknown as Member;
  expect(statusOfMember(member, [member], { minVersion: '1.0.0' })).toEqual({
    status: 'Online',
    message: 'etcd is full; x',
  });
});

describe.skipIf(etcdMissing() !== undefined)('a rolling upgrade', () => {
  const releases: Record<string, string> = { m1: '0.1.0', m2: '0.1.0' };
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  beforeAll(async () => {
    cluster = await makeCluster(2, 1, (name) => ({ releaseNow: () => releases[name] ?? '0.1.0' }));
    const [first, second] = cluster.members;
    if (first === undefined || second === undefined) throw new Error('two members were asked for');
    [one, two] = [first, second];
  });
  afterAll(() => cluster.cleanUp());

  const needed = async (): Promise<string> => {
    const etcd = await openEtcdStore({ endpoints: cluster.etcd.endpoints, name: 'east' });
    try {
      const record = await new SealedStore(etcd, await keysOf(one.dir)).get('/cluster/config');
      return (JSON.parse(Buffer.from(record?.value ?? []).toString()) as { minVersion: string }).minVersion;
    } finally {
      await etcd.close();
    }
  };
  const shown = async () =>
    ((await one.get('/1.0/cluster/members?recursion=1')) as { status: string; message: string }[]).map(
      ({ status, message }) => [status, message],
    );

  test('a newer member waits for the others and names them; it can be downgraded while an old one remains', async () => {
    const fine = ['Online', 'Fully operational'];
    releases['m2'] = '0.2.0';
    await two.restart();
    await until(async () => (await shown())[1]?.[0] === 'Blocked');
    expect(await shown()).toEqual([fine, ['Blocked', expect.stringMatching(/0\.2\.0.*m1.*upgrade that one/)]]);
    expect(await needed()).toBe('0.1.0');
    releases['m2'] = '0.1.0';
    await two.restart();
    await until(async () => (await shown())[1]?.[0] === 'Online');
    releases['m2'] = '0.2.0';
    await two.restart();
  });

  test('when all members are upgraded, an older one no longer starts, and says what to install', async () => {
    releases['m1'] = '0.2.0';
    await one.restart();
    await until(async () => (await needed()) === '0.2.0');
    await until(async () => (await shown()).every(([status]) => status === 'Online'));
    releases['m1'] = '0.1.0';
    await one.restart().then(
      () => expect.unreachable('it started'),
      (error: unknown) => expect(String(error)).toMatch(/release 0\.1\.0.*have run 0\.2\.0.*install 0\.2\.0/s),
    );
    releases['m1'] = '0.3.0';
    await one.restart();
    expect((await one.call('POST', '/1.0/profiles', { name: 'on' })).status).toBe(200);
    expect(await needed()).toBe('0.2.0');
  });
});
