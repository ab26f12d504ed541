// The certificates of members that run their own etcds. PUT /1.0/cluster/certificate: all of them switch, also members that are away or
// join later. A removed member cannot get back in with a copy of its files, neither at the other members nor at their etcds.
import { execFile } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type KeyAndCertificate, makeSelfSigned, makeSigned } from '../../../../server/lib/self-signed.ts';
import { clientOf } from '../../../../server/daemon/stores/etcd-place.ts';
import { clusterCertificateFiles, memberPairFiles } from '../../../../server/membership/membership.ts';
import { makeCluster, type TestCluster, type TestMember, tokenOf } from '../../../support/cluster/members.ts';
import { type Answer, makeDaemon } from '../../../support/daemons/daemon.ts';
import { callTls, makeClient } from '../../../support/daemons/tls.ts';
import { freePorts } from '../../../support/hosts/free-port.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { until } from '../../../support/until.ts';

const hourMs = 3_600_000;
const requestOf = (name: string, fromMs = -hourMs, toMs = hourMs) => ({
  commonName: name,
  organization: 'tests',
  subjectAltNames: ['127.0.0.1'],
  notBefore: new Date(Date.now() + fromMs),
  notAfter: new Date(Date.now() + toMs),
  usage: 'server' as const,
});
const bodyOf = ({ certPem, keyPem }: KeyAndCertificate) => ({
  cluster_certificate: certPem,
  cluster_certificate_key: keyPem,
});
const fingerprintOf = (pem: string): string => new X509Certificate(pem).fingerprint256;

const pairOf = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
  certPem: readFileSync(cert, 'utf8'),
  keyPem: readFileSync(key, 'utf8'),
});

/** The certificate that the server presents to a new connection. */
const shown = (address: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const [host, port] = address.split(':');
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      resolve(fingerprint256);
    });
  });

describe.skipIf(etcdMissing() !== undefined)('the certificate of a cluster', { timeout: 240_000 }, () => {
  let cluster: TestCluster;
  let [one, two, three] = [] as unknown as [TestMember, TestMember, TestMember];
  let first: string;

  beforeAll(async () => {
    cluster = await makeCluster(3, 'own');
    [one, two, three] = cluster.members as unknown as [TestMember, TestMember, TestMember];
    first = readFileSync(join(one.dir, 'cluster.crt'), 'utf8');
    expect((await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' })).status).toBeLessThan(300);
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    await one.ok('POST', '/1.0/containers?target=m3', { name: 'web', source: { type: 'none' }, devices });
  });
  afterAll(() => cluster?.cleanUp());

  const update = (pair: KeyAndCertificate, member = one): Promise<Answer> =>
    member.call('PUT', '/1.0/cluster/certificate', bodyOf(pair));
  const allShow = async (pair: KeyAndCertificate): Promise<void> => {
    const found = await Promise.all(cluster.members.map(({ address }) => shown(address)));
    expect(found).toEqual(found.map(() => fingerprintOf(pair.certPem)));
  };
  /** Expects that every member reaches every container, which forwards requests between members. */
  const allReach = async (): Promise<void> => {
    for (const member of cluster.members)
      expect([member.name, (await member.get('/1.0/containers/web')).location]).toEqual([member.name, 'm3']);
  };

  test('an unusable pair is refused, and nothing changes', async () => {
    const pair = await makeSelfSigned(requestOf('good'));
    const expired = await makeSelfSigned(requestOf('old', -2 * hourMs, -hourMs));
    const later = await makeSelfSigned(requestOf('later', hourMs, 2 * hourMs));
    const client = await makeSelfSigned({ ...requestOf('client'), usage: 'client' });
    const locked = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n';
    const cases: readonly (readonly [KeyAndCertificate, string])[] = [
      [{ ...pair, keyPem: expired.keyPem }, 'cluster_certificate_key: must be the key of the certificate'],
      [expired, 'cluster_certificate: expired on'],
      [later, 'cluster_certificate: is not valid before'],
      [client, 'must have serverAuth'],
      [{ ...pair, certPem: 'no PEM' }, 'cluster_certificate: must be a certificate in PEM form'],
      [{ ...pair, keyPem: 'no PEM' }, 'cluster_certificate_key: must be a private key in PEM form'],
      [{ ...pair, keyPem: locked }, 'has a passphrase'],
      [{ certPem: '', keyPem: '' }, 'cluster_certificate: is required'],
    ];
    for (const [sent, says] of cases) {
      const answer = await update(sent);
      expect([answer.status, answer.bytes.toString()]).toEqual([400, expect.stringContaining(says)]);
    }
    await allShow({ ...pair, certPem: first });
  });

  test('a client that is restricted to projects may not change it', async () => {
    const client = await makeClient();
    const trusted = { type: 'client', certificate: client.certPem, restricted: true, projects: ['default'] };
    expect((await one.call('POST', '/1.0/certificates', trusted)).status).toBeLessThan(300);
    const sent = bodyOf(await makeSelfSigned(requestOf('mine')));
    const answer = await callTls(one.address, 'PUT', '/1.0/cluster/certificate', sent, { client });
    expect(answer.status).toBe(403);
    const own = await one.call('PUT', '/1.0/cluster/certificate', bodyOf(client));
    expect([own.status, own.bytes.toString()]).toEqual([400, expect.stringMatching(/trusted client|serverAuth/)]);
  });

  test('a change through one member applies to all while requests between them continue, and revokes earlier tokens', async () => {
    const asked = await two.call('POST', '/1.0/cluster/members', { server_name: 'm4' });
    const heard = await one.listen('lifecycle');
    const pair = await makeSelfSigned(requestOf('second'));
    const over = new AbortController();
    const statuses = new Set<number>();
    const asking = (async () => {
      while (!over.signal.aborted)
        for (const member of [one, two]) {
          statuses.add((await member.call('PATCH', '/1.0/containers/web', { description: String(Date.now()) })).status);
        }
    })();
    const answer = await update(pair);
    await allShow(pair);
    over.abort();
    await asking;
    expect([answer.status, [...statuses]]).toEqual([200, [200]]);
    await allReach();
    await heard.next((event) => (event.metadata as { action?: string }).action === 'cluster-certificate-updated');
    heard.close();
    const ended = await two.wait(String(asked.body.operation));
    expect([ended.status, ended.err]).toEqual(['Failure', expect.stringContaining('make a new token')]);
    for (const member of cluster.members)
      await until(() => Promise.resolve(readFileSync(join(member.dir, 'cluster.crt'), 'utf8') === pair.certPem));
  });

  test('a member that was away gets the certificate at its start, and starts its etcd', async () => {
    await three.stop();
    const pair = await makeSelfSigned(requestOf('third'));
    expect((await update(pair, two)).status).toBe(200);
    await three.restart();
    await allShow(pair);
    await allReach();
  });

  test('a host joins after the change, and a certificate signed by a CA works too', async () => {
    const authority = { commonName: 'authority', organization: 'tests', ...(await authorityKey()) };
    const pair = await makeSigned(requestOf('signed'), authority);
    expect((await update(pair)).status).toBe(200);
    const four = await cluster.add('m4');
    await until(async () => (await two.get('/1.0/cluster/members')).length === 4);
    await allShow(pair);
    await allReach();
    await four.restart();
    await allReach();
    const asked = await one.call('POST', '/1.0/cluster/members', { server_name: 'm5' });
    const former = fingerprintOf(first).replaceAll(':', '').toLowerCase();
    const host = await makeDaemon();
    onTestFinished(() => host.cleanUp());
    const sent = { server_name: 'm5', enabled: true, server_address: `127.0.0.1:${await freePorts(3)}` };
    const token = tokenOf({ ...asked.body.metadata.metadata, fingerprint: former });
    expect((await host.run('PUT', '/1.0/cluster', { ...sent, cluster_token: token })).err).toContain(
      'make a new token',
    );
  });

  describe('a member that was removed', () => {
    /** A copy of the third member's state directory, made before its removal. */
    const copy = tempFolder('lock-out-');

    let etcds: readonly string[] = [];
    let before = '';

    beforeAll(async () => {
      await one.ok('DELETE', '/1.0/containers/web');
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
      await until(async () => ((await two.get('/1.0/cluster/members')) as unknown[]).length === 3);
      for (const member of [one, two])
        for (const files of [memberPairFiles(copy), clusterCertificateFiles(copy)])
          expect([member.name, await ask(pairOf(files), member)]).toEqual([member.name, 403]);
      expect((await one.call('POST', '/1.0/profiles', { name: 'after' })).status).toBeLessThan(300);
      expect(await two.get('/1.0/profiles')).toContain('/1.0/profiles/after');
      expect(await three.get('/1.0/cluster')).toMatchObject({ enabled: false });
      await until(() => !existsSync(join(three.dir, 'cluster', 'etcd')));
    });

    test('can no longer reach an etcd with a copy of its files, which had full access before', async () => {
      expect(before).toContain('/gantry/data/clusterKeys/current');
      const refused = etcds.map(() => 'refused');
      const asked = (...args: readonly string[]) => Promise.all(etcds.map((address) => etcdctl(address, ...args)));
      expect(await asked('get', '--prefix', '/gantry', '--keys-only')).toEqual(refused);
      expect(await asked('put', '/gantry/data/profiles/evil', 'x')).toEqual(refused);
    });
  });
});

async function authorityKey() {
  return { privateKey: createPrivateKey((await makeSelfSigned(requestOf('authority'))).keyPem) };
}
