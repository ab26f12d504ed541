// A client that is restricted to projects, at a cluster: what other members do for it counts as its own.
import { once } from 'node:events';
import { afterAll, beforeAll, expect, describe, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { type Listening, listenOn } from '../../support/daemons/daemon.ts';
import { audience, startIssuer } from '../../support/daemons/issuer.ts';
import { callTls, type ClientCertificate, makeClient } from '../../support/daemons/tls.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('a client that is restricted to a project of a cluster', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let client: ClientCertificate;

  beforeAll(async () => {
    cluster = await makeCluster(2);
    [one] = cluster.members as [TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    client = await makeClient();
    for (const name of ['mine', 'theirs'])
      await one.call('POST', '/1.0/projects', { name, config: { 'features.images': 'false' } });
    const trusted = { type: 'client', certificate: client.certPem, restricted: true, projects: ['mine'] };
    expect((await one.call('POST', '/1.0/certificates', trusted)).status).toBeLessThan(300);
    for (const name of ['mine', 'theirs'])
      await one.ok('POST', `/1.0/containers?project=${name}&target=m2`, {
        name: 'web',
        source: { type: 'none' },
        devices: { root: { type: 'disk', path: '/', pool: 'default' } },
      });
  });
  afterAll(() => cluster.cleanUp());

  const ask = (method: string, path: string, body?: object) => callTls(one.address, method, path, body, { client });
  const listen = (): Promise<Listening> => {
    const { certPem, keyPem } = client;
    const url = `wss://${one.address}/1.0/events?type=operation&project=mine`;
    return listenOn(url, { cert: certPem, key: keyPem, rejectUnauthorized: false });
  };
  const start = { action: 'start' };

  test('follows its operation on another member by events, by waiting and in the list', async () => {
    const heard = await listen();
    const { status, body } = await ask('PUT', '/1.0/containers/web/state?project=mine', start);
    expect(status).toBe(202);
    const url = String(body.operation).split('?')[0] ?? '';
    const ended = await ask('GET', `${url}/wait`);
    expect([ended.status, ended.metadata?.status]).toEqual([200, 'Success']);
    expect((await ask('GET', url)).status).toBe(200);
    expect((await ask('GET', '/1.0/operations?project=mine')).metadata).toContain(url);
    const id = url.split('/').at(-1);
    await heard.next(({ metadata }) => {
      const operation = metadata as { readonly id: string; readonly status: string };
      return operation.id === id && operation.status === 'Success';
    });
    heard.close();
  });

  const configure = async (config: object): Promise<void> =>
    expect((await one.call('PATCH', '/1.0', { config })).status).toBe(200);
  const logIn = async () => {
    const issuer = await startIssuer();
    onTestFinished(() => issuer.close());
    const oidc = { 'oidc.issuer': issuer.url, 'oidc.client.id': audience };
    await configure({ ...oidc, 'oidc.groups.projects.web': 'mine', 'oidc.groups.projects.other': 'theirs' });
    const headers = { authorization: `Bearer ${await issuer.token({ groups: ['web'] })}` };
    const asUser = (method: string, path: string, body?: object) =>
      callTls(one.address, method, `${path}?project=mine`, body, { headers });
    return { headers, asUser };
  };

  test('loses the console on another member when the config no longer trusts its user', async () => {
    const { headers, asUser } = await logIn();
    await one.wait((await asUser('PUT', '/1.0/containers/web/state', start)).body.operation as string);
    const exec = { command: ['sleep', '600'], 'wait-for-websocket': true, interactive: true };
    const { body, metadata } = await asUser('POST', '/1.0/containers/web/exec', exec);
    const operation = String(body.operation).split('?')[0] ?? '';
    const { fds } = metadata.metadata as { readonly fds: Readonly<Record<string, string>> };
    const open = async (secret = ''): Promise<WebSocket> => {
      const url = `wss://${one.address}${operation}/websocket?secret=${secret}&project=mine`;
      const socket = new WebSocket(url, { headers, rejectUnauthorized: false });
      await once(socket, 'open');
      return socket;
    };
    const channels = [await open(fds['control']), await open(fds['0'])];
    await configure({ 'user.x': '1' });
    expect(channels.map(({ readyState }) => readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
    await configure({ 'oidc.groups.projects.web': '' });
    await until(() => channels.every(({ readyState }) => readyState === WebSocket.CLOSED));
    await until(async () => (await one.call('GET', `${operation}?project=mine`)).metadata?.status_code !== 103);
  });

  test('loses what it started on another member, also channels that it opened there itself, or without its token', async () => {
    const { headers, asUser } = await logIn();
    await one.ok('PUT', '/1.0/containers/web/state?project=mine', start).catch(() => {});
    const begin = async (more: object) => {
      const { body, metadata } = await asUser('POST', '/1.0/containers/web/exec', {
        command: ['sleep', '600'],
        ...more,
      });
      return { url: String(body.operation).split('?')[0] ?? '', fds: metadata.metadata?.fds as Record<string, string> };
    };
    const [quiet, open] = [
      await begin({ 'record-output': false }),
      await begin({ 'wait-for-websocket': true, interactive: true }),
    ];
    const two = cluster.members[1] as TestMember;
    const connect = async (secret: string | undefined, options: object): Promise<WebSocket> => {
      const url = `wss://${two.address}${open.url}/websocket?secret=${secret}&project=mine`;
      const socket = new WebSocket(url, { ...options, rejectUnauthorized: false });
      await once(socket, 'open');
      return socket;
    };
    const channels = [await connect(open.fds['control'], { headers }), await connect(open.fds['0'], {})];
    await configure({ 'user.x': '2' });
    const statusOf = async (url: string) => (await one.call('GET', `${url}?project=mine`)).metadata?.status_code;
    expect(await Promise.all([quiet.url, open.url].map(statusOf))).toEqual([103, 103]);
    await configure({ 'oidc.groups.projects.web': '' });
    await until(() => channels.every(({ readyState }) => readyState === WebSocket.CLOSED));
    for (const { url } of [quiet, open]) await until(async () => (await statusOf(url)) !== 103);
  });

  test('neither hears, sees nor finds operations of other projects there', async () => {
    const heard = await listen();
    const { body } = await one.call('PUT', '/1.0/containers/web/state?project=theirs', start);
    const url = String(body.operation).split('?')[0] ?? '';
    await one.wait(url);
    for (const path of [url, `${url}/wait`]) expect((await ask('GET', path)).status).toBe(404);
    expect((await ask('DELETE', url)).status).toBe(404);
    expect(JSON.stringify((await ask('GET', '/1.0/operations?project=mine')).metadata)).not.toContain(url);
    await ask('PUT', '/1.0/containers/web/state?project=mine', { action: 'stop', force: true });
    await heard.next(({ metadata }) => (metadata as { readonly status: string }).status === 'Success');
    expect(JSON.stringify(heard.events)).not.toContain(url.split('/').at(-1));
    heard.close();
  });
});
