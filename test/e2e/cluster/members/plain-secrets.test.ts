// The records of a cluster in etcd: secrets are unreadable, and the keys of a removed member cannot read later writes.
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generationOf, isPlainKey } from '../../../../server/membership/keys/vault.ts';
import { keysOf } from '../../../../server/daemon/stores/keys-of.ts';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { SealedStore } from '../../../../server/store/sealed.ts';
import type { Store, StoreRecord } from '../../../../server/store/store.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { makePair } from '../../../support/daemons/tls.ts';

describe.skipIf(etcdMissing() !== undefined)('the records of a cluster in etcd', () => {
  let cluster: TestCluster;
  let [one, two] = [] as unknown as [TestMember, TestMember];
  let secrets: readonly string[] = [];
  const copy = tempFolder('gtyp-');

  beforeAll(async () => {
    cluster = await makeCluster(2);
    [one, two] = cluster.members as unknown as [TestMember, TestMember];
    const pair = await makePair('another', { subjectAltNames: ['127.0.0.1'], usage: 'server' });
    const sent = { cluster_certificate: pair.certPem, cluster_certificate_key: pair.keyPem };
    expect((await one.call('PUT', '/1.0/cluster/certificate', sent)).status).toBe(200);
    expect((await one.call('PATCH', '/1.0', { config: { 'core.trust_password': 'open-sesame' } })).status).toBe(200);
    await one.call('POST', '/1.0/cluster/members', { server_name: 'm9' });
    const config = { 'environment.TOKEN': 'token-of-a-tenant', 'user.user-data': 'password: of-cloud-init' };
    expect((await two.call('POST', '/1.0/profiles', { name: 'secretive', config })).status).toBe(200);
    const hash = String((await read('/server/config')).config['core.trust_password']);
    const secretHash = String((await read('/joinTokens/m9'))['secretHash']);
    secrets = [hash, secretHash, 'open-sesame', 'token-of-a-tenant', 'of-cloud-init', 'PRIVATE KEY'];
    expect([hash, secretHash].map(({ length }) => length > 60)).toEqual([true, true]);
  });
  afterAll(() => cluster?.cleanUp());

  const withStore = async <T>(dir: string | undefined, work: (store: Store) => Promise<T>): Promise<T> => {
    const etcd = await openEtcdStore({ endpoints: cluster.etcd.endpoints, name: 'east' });
    try {
      return await work(dir === undefined ? etcd : new SealedStore(etcd, await keysOf(dir)));
    } finally {
      await etcd.close();
    }
  };
  const read = async (key: string) =>
    await withStore(
      one.dir,
      async (store) =>
        JSON.parse(Buffer.from((await store.get(key))?.value ?? []).toString()) as Record<string, unknown> & {
          readonly config: Record<string, string>;
        },
    );
  /** The raw records in etcd. */
  const rawRecords = (): Promise<readonly StoreRecord[]> =>
    withStore(undefined, async (store) => (await store.range('/')).records);
  const generations = async (): Promise<readonly (readonly [string, number | undefined])[]> =>
    (await rawRecords()).filter(({ key }) => !isPlainKey(key)).map(({ key, value }) => [key, generationOf(value)]);

  test('show neither keys, nor hashes of passwords and tokens, nor config of containers', async () => {
    const everything = cluster.etcd.ctl('get', '--prefix', '', '--print-value-only');
    for (const secret of secrets) expect([secret, everything.includes(secret)]).toEqual([secret, false]);
    const found = await generations();
    expect(found.length).toBeGreaterThan(5);
    expect(found.filter(([, generation]) => generation === undefined)).toEqual([]);
  });

  test('are backed up in a form that a host without the keys can restore', async () => {
    const lines: string[] = [];
    const { Writable } = await import('node:stream');
    const sink = new Writable({ write: (chunk, _coding, done) => (lines.push(String(chunk)), done()) });
    await withStore(one.dir, (store) => store.snapshot(sink));
    const values = lines
      .join('')
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line) as { readonly key: string; readonly value: string });
    const profile = values.find(({ key }) => key === '/profiles/secretive');
    expect(Buffer.from(profile?.value ?? '', 'base64').toString()).toContain('token-of-a-tenant');
  });

  test('a removal re-encrypts values with a key that the removed member never had', async () => {
    cpSync(join(two.dir, 'cluster'), join(copy, 'cluster'), { recursive: true });
    const former = Math.max(...(await generations()).map(([, generation]) => generation ?? 0));
    await one.ok('DELETE', '/1.0/cluster/members/m2');
    expect((await one.call('POST', '/1.0/profiles', { name: 'after' })).status).toBe(200);
    await until(async () => (await generations()).every(([, generation]) => generation === former + 1));
    expect(readFileSync(join(copy, 'cluster', 'keys.json'), 'utf8')).toContain('keyring');
    for (const key of ['/profiles/after', '/profiles/secretive', '/cluster/config'])
      await expect(withStore(copy, (store) => store.get(key))).rejects.toThrow(
        /encrypted with a key that this host does/,
      );
    expect(await one.get('/1.0/profiles')).toEqual(
      expect.arrayContaining(['/1.0/profiles/after', '/1.0/profiles/secretive']),
    );
  });
});
