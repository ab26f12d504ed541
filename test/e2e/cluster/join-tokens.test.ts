// What a token lets in: one host, of its name, once, until it expires or another one takes its place.
import { createServer, type Server } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeSelfSigned } from '../../../server/lib/self-signed.ts';
import { makeCluster, type TestCluster, type TestMember, tokenOf } from '../../support/cluster/members.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

const dayMs = 24 * 60 * 60_000;

describe.skipIf(etcdMissing() !== undefined)('a token of a cluster', () => {
  let cluster: TestCluster;
  let one: TestMember;
  const hosts: TestDaemon[] = [];

  beforeAll(async () => {
    cluster = await makeCluster(1);
    one = cluster.members[0] ?? expect.unreachable();
    hosts.push(await makeDaemon(), await makeDaemon());
  });
  afterAll(async () => {
    // The member that joined reaches its store until it has stopped.
    for (const host of hosts) await host.cleanUp();
    await cluster.cleanUp();
  });

  const metadataFor = async (name: string): Promise<Record<string, unknown>> => {
    const answer = await one.call('POST', '/1.0/cluster/members', { server_name: name });
    expect([answer.status, answer.bytes.toString()]).toEqual([202, expect.any(String)]);
    return answer.metadata.metadata as Record<string, unknown>;
  };
  const join = async (host: TestDaemon, name: string, token: string): Promise<string> => {
    const server_address = `127.0.0.1:${await freePort()}`;
    const body = { server_name: name, enabled: true, server_address, cluster_token: token };
    const answer = await host.call('PUT', '/1.0/cluster', body);
    if (answer.status !== 202) return answer.bytes.toString();
    const { status, err } = await host.wait(answer.body.operation);
    return status === 'Success' ? status : err;
  };
  const isSingle = async (host: TestDaemon): Promise<boolean> =>
    !((await host.get('/1.0/cluster')) as { enabled: boolean }).enabled;
  const names = async (): Promise<number> => ((await one.get('/1.0/cluster/members')) as unknown[]).length;
  const notValid = 'the token is not valid for this name (it was used, has expired or was withdrawn)';

  test('lets no host in with a wrong secret, or under another name', async () => {
    const [host] = hosts as [TestDaemon];
    const metadata = await metadataFor('two');
    expect(await join(host, 'two', tokenOf({ ...metadata, secret: 'f'.repeat(64) }))).toContain(notValid);
    expect(await join(host, 'three', tokenOf({ ...metadata, serverName: 'three' }))).toContain(notValid);
    expect(await join(host, 'three', tokenOf(metadata))).toContain('must be two');
    expect([await isSingle(host), await names()]).toEqual([true, 1]);
  });

  test('lets a host in no more when a newer token has its name', async () => {
    const [host] = hosts as [TestDaemon];
    const former = await metadataFor('two');
    await metadataFor('two');
    expect(await join(host, 'two', tokenOf(former))).toContain(notValid);
  });

  test('lets a host in no more when a newer token took its name while the host was examined', async () => {
    const pair = await makeSelfSigned({
      commonName: 'a host',
      organization: 'gantry',
      subjectAltNames: ['127.0.0.1'],
      notBefore: new Date(Date.now() - dayMs),
      notAfter: new Date(Date.now() + dayMs),
      usage: 'peer',
      curve: 'P-256',
    });
    const { secret } = await metadataFor('two');
    const server = await listening((socket) => {
      void metadataFor('two').then(
        () => new TLSSocket(socket, { isServer: true, cert: pair.certPem, key: pair.keyPem }),
      );
    });
    const { port } = server.address() as { readonly port: number };
    const { metadata } = await one.call('GET', '/1.0');
    const answer = await one.call('POST', '/internal/cluster/accept', {
      server_name: 'two',
      address: `127.0.0.1:${port}`,
      certificate: pair.certPem,
      member_certificate: pair.certPem,
      version: metadata.environment.server_version,
      architecture: 'x86_64',
      secret,
    });
    server.close();
    expect([answer.status, answer.bytes.toString()]).toEqual([403, expect.stringContaining(notValid)]);
    expect(await names()).toBe(1);
  });

  test('lets a host in no more when the member that made it was removed', async () => {
    const maker = await cluster.add('maker');
    const { metadata } = (await maker.call('POST', '/1.0/cluster/members', { server_name: 'two' })).metadata;
    await one.ok('DELETE', '/1.0/cluster/members/maker');
    expect(await join(hosts[0] ?? expect.unreachable(), 'two', tokenOf(metadata))).toContain(notValid);
    expect(await names()).toBe(1);
  });

  test('lets one of two hosts in that use it at once, and the other one stays as it was', async () => {
    const token = tokenOf(await metadataFor('two'));
    const ended = await Promise.all(hosts.map((host) => join(host, 'two', token)));
    expect(ended.filter((result) => result === 'Success')).toHaveLength(1);
    expect(ended.find((result) => result !== 'Success')).toMatch(/not valid for this name|two already exists/);
    const single = await Promise.all(hosts.map(isSingle));
    expect(single).toEqual(ended.map((result) => result !== 'Success'));
    expect(await names()).toBe(2);
    const other = hosts[single.indexOf(true)] ?? expect.unreachable();
    expect(await join(other, 'two', token)).toMatch(/not valid for this name|already exists/);
    expect(await join(other, 'three', tokenOf(await metadataFor('three')))).toBe('Success');
    expect(await names()).toBe(3);
  });
});

const listening = async (onSocket: Parameters<typeof createServer>[1] & object): Promise<Server> => {
  const server = createServer(onSocket);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
};
