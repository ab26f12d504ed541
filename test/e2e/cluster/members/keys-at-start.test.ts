// The keys of a cluster change while a member starts, between the opening of its store and its lease: it starts all the same.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyFilePath, type StoredKeys } from '../../../../server/membership/keys/key-file.ts';
import { readMembership } from '../../../../server/membership/membership.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('a member that starts', { timeout: 600_000 }, () => {
  let cluster: TestCluster;
  /** Runs when m3 opens its drivers: its store is open then, and it has no lease. */
  let whileStarting = async (): Promise<void> => {};

  beforeAll(async () => {
    cluster = await makeCluster(3, 'own', (name) =>
      name === 'm3' ? { adapt: (host) => whileStarting().then(() => host) } : {},
    );
    for (const { dir } of cluster.members)
      await until(async () => ((await readMembership(dir))?.store.address ?? '').split(',').length === 3);
  }, 300_000);
  afterAll(() => cluster.cleanUp());

  const member = (at: number): TestMember => cluster.members[at] ?? expect.unreachable();
  const stateOf = ({ dir }: TestMember): StoredKeys['state'] =>
    (JSON.parse(readFileSync(keyFilePath(dir), 'utf8')) as StoredKeys).state;

  test('takes the keys that the others have changed meanwhile', async () => {
    const [first, late] = [member(0), member(2)];
    whileStarting = async () => {
      await first.ok('POST', '/internal/cluster/keys');
      expect([stateOf(first), stateOf(late)].map(({ generation }) => generation)).toEqual([2, 1]);
    };
    await late.restart();
    await until(() => Promise.resolve(stateOf(late).generation === 2 && stateOf(late).phase === 'done'));
    expect((await late.call('POST', '/1.0/profiles', { name: 'written' })).status).toBe(200);
    await until(async () => (await first.call('GET', '/1.0/profiles/written')).status === 200);
  });
});
