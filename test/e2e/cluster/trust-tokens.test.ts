// A trust token is good at each member of a cluster, wherever it was made: clients may reach the cluster at another address.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeTrustToken } from '../../../server/api/server/trust-token.ts';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('a trust token of a cluster', () => {
  let cluster: TestCluster;
  let [one, two] = [] as unknown as [TestMember, TestMember];
  let clients: readonly [ClientCertificate, ClientCertificate];
  beforeAll(async () => {
    cluster = await makeCluster(2);
    [one, two] = cluster.members as unknown as [TestMember, TestMember];
    clients = [await makeClient('first'), await makeClient('second')];
  });
  afterAll(() => cluster?.cleanUp());

  async function madeAt(member: TestMember) {
    const body = { type: 'client', name: 'new', token: true, restricted: true, projects: ['default'] };
    const { status, metadata } = await member.call('POST', '/1.0/certificates', body);
    expect([status, metadata?.class]).toEqual([202, 'token']);
    const { secret, fingerprint, addresses } = metadata.metadata;
    return { id: metadata.id, token: encodeTrustToken({ client_name: 'new', secret, fingerprint, addresses }) };
  }
  const send = async (member: TestMember, client: ClientCertificate, password: string): Promise<number> =>
    (await callTls(member.address, 'POST', '/1.0/certificates', { type: 'client', password }, { client })).status;
  const statusOf = async (id: string): Promise<string> =>
    (await one.call('GET', `/1.0/operations/${id}`)).metadata?.status ?? 'gone';

  test('adds the certificate at another member, once, and its operation ends', async () => {
    const { id, token } = await madeAt(one);
    await until(async () => (await send(two, clients[0], token)) === 200);
    expect([await send(one, clients[1], token), await send(two, clients[1], token)]).toEqual([403, 403]);
    await until(async () => (await statusOf(id)) === 'Success');
    await until(async () => ((await one.get('/1.0/certificates')) as unknown[]).length === 1);
    const [added] = (await one.get('/1.0/certificates?recursion=1')) as readonly object[];
    expect(added).toMatchObject({ fingerprint: clients[0].fingerprint, restricted: true, projects: ['default'] });
  });

  test('is good nowhere once it was withdrawn where it was made', async () => {
    const { id, token } = await madeAt(one);
    expect((await one.call('DELETE', `/1.0/operations/${id}`)).status).toBeLessThan(300);
    await until(async () => (await statusOf(id)) !== 'Running');
    expect([await send(one, clients[1], token), await send(two, clients[1], token)]).toEqual([403, 403]);
  });

  test('is good nowhere once its member was removed', async () => {
    const third = await cluster.add('m3');
    const { token } = await madeAt(third);
    await one.ok('DELETE', '/1.0/cluster/members/m3');
    expect([await send(one, clients[1], token), await send(two, clients[1], token)]).toEqual([403, 403]);
  });

  test('ends when the host that made it forms a cluster, and its operation says why', async () => {
    const clusterStore = { address: `etcd://${cluster.etcd.endpoints.join(',')}/west` };
    const host = await makeDaemon({ https: '127.0.0.1:0', clusterStore });
    try {
      const asked = await host.call('POST', '/1.0/certificates', { type: 'client', name: 'new', token: true });
      const server_address = `127.0.0.1:${await freePort()}`;
      await host.ok('PUT', '/1.0/cluster', { server_name: 'w1', enabled: true, server_address });
      const { status, err } = await host.wait(asked.body.operation);
      expect([status, err]).toEqual(['Failure', expect.stringMatching(/formed, joined or left a cluster/)]);
    } finally {
      await host.cleanUp();
    }
  });
});
