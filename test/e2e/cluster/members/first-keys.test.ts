// A cluster of a release that had no keys is upgraded: it gets its first keys when all members can have them, and says for whom it waits until then.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KeptKeys, keyFilePath } from '../../../../server/membership/keys/key-file.ts';
import { generationOf, isPlainKey } from '../../../../server/membership/keys/vault.ts';
import { readMembership } from '../../../../server/membership/membership.ts';
import { clientOf } from '../../../../server/daemon/stores/etcd-place.ts';
import { etcdSettings } from '../../../../server/daemon/stores/store-choice.ts';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { cli } from '../../../support/cli/io.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { asOlderRelease } from '../../../support/cluster/older-release.ts';
import { runningMinutes } from '../../../support/daemons/clock.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const patienceMs = 120_000;

const keysOf = ({ dir }: TestMember): KeptKeys | undefined =>
  existsSync(keyFilePath(dir)) ? (JSON.parse(readFileSync(keyFilePath(dir), 'utf8')) as KeptKeys) : undefined;
const hasFirstKeys = (member: TestMember): boolean => {
  const { generation, phase } = keysOf(member)?.state ?? {};
  return generation === 1 && phase === 'done';
};

/** Keys of the records that etcd can read, of those that are to be hidden from it. */
async function plainIn(member: TestMember): Promise<readonly string[]> {
  const { store } = (await readMembership(member.dir)) ?? {};
  if (store === undefined) throw new Error(`${member.name} is no member`);
  const etcd = await openEtcdStore(await etcdSettings(store));
  try {
    const { records } = await etcd.range('/');
    return records
      .filter(({ key, value }) => !isPlainKey(key) && generationOf(value) === undefined)
      .map(({ key }) => key);
  } finally {
    await etcd.close();
  }
}

describe.skipIf(etcdMissing() !== undefined)('a cluster of a release without keys', { timeout: 300_000 }, () => {
  let cluster: TestCluster;
  let [one, two, three] = [] as unknown as [TestMember, TestMember, TestMember];
  const copy = tempFolder('first-keys-');

  beforeAll(async () => {
    cluster = await makeCluster(3, 'own');
    [one, two, three] = cluster.members as unknown as [TestMember, TestMember, TestMember];
    for (const { dir } of cluster.members)
      await until(async () => ((await readMembership(dir))?.store.address ?? '').split(',').length === 3, patienceMs);
    expect((await one.call('PATCH', '/1.0', { config: { 'core.trust_password': 'kept' } })).status).toBe(200);
    expect((await one.call('POST', '/1.0/profiles', { name: 'before' })).status).toBe(200);
    for (const member of cluster.members) await member.stop();
    await asOlderRelease(cluster.members);
    cpSync(join(three.dir, 'cluster', 'tls'), copy, { recursive: true });
  }, 240_000);
  afterAll(() => cluster?.cleanUp());

  const isLetIn = async (member: TestMember): Promise<boolean> => {
    const flags = [`--cacert=${copy}/ca.crt`, `--cert=${copy}/member.crt`, `--key=${copy}/member.key`];
    const argv = [
      `--endpoints=https://${clientOf(member.address)}`,
      ...flags,
      '--dial-timeout=2s',
      '--command-timeout=4s',
    ];
    return await promisify(execFile)('etcdctl', [...argv, 'get', '/gantry/meta/store'], {
      env: { ...process.env, ETCDCTL_API: '3' },
    }).then(
      () => true,
      () => false,
    );
  };

  test('stays as it was while one of its members is not upgraded, and refuses other keys with the name of that one', async () => {
    await Promise.all([one.restart(), two.restart()]);
    expect((await plainIn(one)).length).toBeGreaterThan(3);
    expect(await isLetIn(one)).toBe(true);
    expect((await two.call('POST', '/1.0/profiles', { name: 'between' })).status).toBe(200);
    await expect(one.ok('POST', '/internal/cluster/keys')).rejects.toThrow(/member m3 has no certificate/);
    expect([keysOf(one), keysOf(two)]).toEqual([undefined, undefined]);
  });

  test('has its first keys when the last member is upgraded: every value is encrypted, and files from before open no etcd', async () => {
    await three.restart();
    for (const member of cluster.members) await until(() => Promise.resolve(hasFirstKeys(member)), patienceMs);
    await until(async () => (await plainIn(two)).length === 0, patienceMs);
    for (const member of cluster.members) {
      expect(await isLetIn(member)).toBe(false);
      expect(await member.get('/1.0/profiles')).toEqual(
        expect.arrayContaining(['/1.0/profiles/before', '/1.0/profiles/between']),
      );
    }
    expect((await three.get('/1.0')).config['core.trust_password']).toBe(true);
  });

  test('starts again as a whole with the keys that it got', async () => {
    for (const member of cluster.members) await member.stop();
    await Promise.all(cluster.members.map((member) => member.restart()));
    for (const member of cluster.members) expect([member.name, hasFirstKeys(member)]).toEqual([member.name, true]);
    expect((await three.call('POST', '/1.0/profiles', { name: 'after' })).status).toBe(200);
  });
});

describe.skipIf(etcdMissing() !== undefined)('a removal that cannot change the keys', { timeout: 300_000 }, () => {
  const minutes = runningMinutes();
  let cluster: TestCluster;
  let [one, two, three] = [] as unknown as [TestMember, TestMember, TestMember];
  beforeAll(async () => {
    cluster = await makeCluster(3, 1, () => ({ time: minutes.time }));
    [one, two, three] = cluster.members as unknown as [TestMember, TestMember, TestMember];
    for (const member of cluster.members) await member.stop();
    await asOlderRelease(cluster.members);
    await Promise.all([one.restart(), two.restart()]);
  }, 240_000);
  afterAll(() => cluster?.cleanUp());

  const warning = async (): Promise<Record<string, string> | undefined> => {
    const all = (await one.get('/1.0/warnings?recursion=1')) as Record<string, string>[];
    return all.find(({ type }) => type === 'Cluster keys cannot change');
  };

  test('says that the removed member is not locked out, which member is in the way, and what to do', async () => {
    const removed = await cli(['cluster', 'remove', 'm2', '--host', `unix://${one.socketPath}`]);
    expect(removed).toMatchObject({ code: 0, stdout: 'm2\n' });
    expect(removed.stderr).toMatch(
      /Warning: The member m2 is removed, and is not locked out\..*member m3 has no certificate/,
    );
    expect(removed.stderr).toContain('Upgrade gantryd on m3, or remove it');
  });

  test('is a warning until the cluster has keys', async () => {
    minutes.pass(60_000);
    await until(async () => (await warning())?.['status'] === 'new');
    expect((await warning())?.['last_message']).toContain('Upgrade gantryd on m3');
    await three.restart();
    for (const member of [one, three]) await until(() => Promise.resolve(hasFirstKeys(member)), patienceMs);
    minutes.pass(60_000);
    await until(async () => (await warning())?.['status'] === 'resolved');
  });
});
