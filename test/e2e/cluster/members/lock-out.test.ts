// A removed member cannot get back in with a copy of its files, neither at the other members nor at their etcds.
import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterCertificateFiles, memberPairFiles } from '../../../../server/membership/membership.ts';
import type { KeyAndCertificate } from '../../../../server/lib/self-signed.ts';
import { clientOf } from '../../../../server/daemon/stores/etcd-place.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { callTls } from '../../../support/daemons/tls.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const pairOf = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
  certPem: readFileSync(cert, 'utf8'),
  keyPem: readFileSync(key, 'utf8'),
});

describe.skipIf(etcdMissing() !== undefined)('a member that was removed', { timeout: 240_000 }, () => {
  let cluster: TestCluster;
  let [one, two, three] = [] as unknown as [TestMember, TestMember, TestMember];
  /** A copy of the third member's state directory, made before its removal. */
  const copy = tempFolder('lock-out-');

  let etcds: readonly string[] = [];
  let before = '';

  beforeAll(async () => {
    cluster = await makeCluster(3, 'own');
    [one, two, three] = cluster.members as unknown as [TestMember, TestMember, TestMember];
    etcds = [one, two].map(({ address }) => clientOf(address));
    for (const name of ['cluster.crt', 'cluster.key']) cpSync(join(three.dir, name), join(copy, name));
    cpSync(join(three.dir, 'cluster'), join(copy, 'cluster'), { recursive: true });
  });
  /** The output of etcdctl, or that the connection was refused. */
  const etcdctl = async (address: string, ...args: readonly string[]): Promise<string> => {
    const tls = join(copy, 'cluster', 'tls');
    const flags = [`--cacert=${tls}/ca.crt`, `--cert=${tls}/member.crt`, `--key=${tls}/member.key`];
    const argv = [`--endpoints=https://${address}`, ...flags, '--dial-timeout=2s', '--command-timeout=4s', ...args];
    return await promisify(execFile)('etcdctl', argv, { env: { ...process.env, ETCDCTL_API: '3' } }).then(
      ({ stdout }) => stdout,
      () => 'refused',
    );
  };
  afterAll(() => cluster?.cleanUp());

  /** Sends a request between members with a pair of the copy. */
  const ask = async (pair: KeyAndCertificate, member = one): Promise<number> => {
    const headers = { 'x-gantry-from': 'm3', 'x-gantry-dialect': 'svc' };
    return (
      await callTls(member.address, 'GET', '/1.0/profiles', undefined, {
        client: { ...pair, fingerprint: '' },
        headers,
      })
    ).status;
  };

  test('is identified by its own certificate while it is a member; the certificate for clients opens nothing', async () => {
    expect(await ask(pairOf(memberPairFiles(copy)))).toBe(200);
    expect(await ask(pairOf(clusterCertificateFiles(copy)))).toBe(403);
  });

  test('gets no request accepted with a copy of its certificates, and the others continue', async () => {
    before = await etcdctl(etcds[0] ?? '', 'get', '--prefix', '/gantry', '--keys-only');
    await one.ok('DELETE', '/1.0/cluster/members/m3');
    await until(async () => ((await two.get('/1.0/cluster/members')) as unknown[]).length === 2);
    for (const member of [one, two])
      for (const files of [memberPairFiles(copy), clusterCertificateFiles(copy)])
        expect([member.name, await ask(pairOf(files), member)]).toEqual([member.name, 403]);
    expect((await one.call('POST', '/1.0/profiles', { name: 'after' })).status).toBeLessThan(300);
    expect(await two.get('/1.0/profiles')).toContain('/1.0/profiles/after');
    expect(await three.get('/1.0/cluster')).toMatchObject({ enabled: false });
  });

  test('can no longer reach an etcd with a copy of its files, which had full access before', async () => {
    expect(before).toContain('/gantry/data/clusterKeys/current');
    const refused = etcds.map(() => 'refused');
    const asked = (...args: readonly string[]) => Promise.all(etcds.map((address) => etcdctl(address, ...args)));
    expect(await asked('get', '--prefix', '/gantry', '--keys-only')).toEqual(refused);
    expect(await asked('put', '/gantry/data/profiles/evil', 'x')).toEqual(refused);
  });
});
