// The guest socket in a tenant's container reveals nothing of other projects, and a guest's abuse of it affects nobody else.
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, listenOn, type Answer } from '../../../support/daemons/daemon.ts';
import { openSharedHost, type SharedHost } from '../../../support/hostile/shared-host.ts';
import { until } from '../../../support/until.ts';

let host: SharedHost;
beforeAll(async () => {
  host = await openSharedHost();
  const change = (project: string) =>
    host.admin.call('PATCH', `/1.0/containers/own?project=${project}`, { config: { 'user.of': project } });
  for (const project of ['mine', 'theirs']) {
    expect((await change(project)).status).toBe(200);
    await host.admin.ok('PUT', `/1.0/containers/own/state?project=${project}`, { action: 'start' });
  }
});
afterAll(() => host.cleanUp());

const socketOf = (project: string): string =>
  join(host.admin.dir, 'storage-pools/default/containers', `${project}%own`, 'rootfs/dev/lxd/sock');
const ask = (path: string, project = 'mine'): Promise<Answer> => call({ socketPath: socketOf(project) }, 'GET', path);

test('the socket serves the own container, even if another project has one of its name', async () => {
  for (const project of ['mine', 'theirs']) {
    expect((await ask('/1.0/config/user.of', project)).bytes.toString()).toBe(project);
    const said = (await ask('/1.0/meta-data', project)).bytes.toString();
    expect(said).toContain('local-hostname: own\n');
    expect(said).not.toContain('%');
  }
});

test.each([
  '/1.0/config/user.secret',
  '/1.0/config/theirs%25own',
  '/1.0/config/..%2F..%2Fcontainers%2Fvictim',
  '/1.0/containers/victim?project=theirs',
  '/1.0/projects',
  '/1.0/certificates',
  '/1.0/operations',
  '/1.0/meta-data?project=theirs',
  '/1.0/config?project=theirs',
  '/1.0/devices?project=theirs',
  '/1.0/images/FINGERPRINT/export',
  '/1.0/images/theirs%25FINGERPRINT/export',
  '/1.0/images/FINGERPRINT/export?project=theirs',
])('%s says nothing of others', async (path) => {
  const { bytes } = await ask(path.replace('FINGERPRINT', host.fingerprint));
  // Refusals repeat the guest's own text; values of others never appear.
  expect(bytes.toString()).not.toMatch(/of-victim|of-theirs|of-profile|10\.9\.8\.77|metadata\.yaml/);
});

test('changes in other projects are no events, not even for a container of the same name', async () => {
  const heard = await listenOn(`ws+unix://${socketOf('mine')}:/1.0/events`);
  const write = (project: string, path: string, value: string) =>
    host.admin.call('PATCH', `/1.0/${path}?project=${project}`, { config: { 'user.of': value } });
  expect((await write('theirs', 'containers/own', 'changed')).status).toBe(200);
  expect((await write('theirs', 'profiles/default', 'changed')).status).toBe(200);
  expect((await write('default', 'profiles/default', 'changed')).status).toBe(200);
  expect((await write('mine', 'containers/own', 'at last')).status).toBe(200);
  await until(() => heard.events.length > 0);
  expect(heard.events.map(({ metadata }) => metadata)).toEqual([
    { key: 'user.of', old_value: 'mine', value: 'at last' },
  ]);
  heard.close();
});

test('a guest that keeps all of its connections busy does not affect other projects or the API', async () => {
  const sockets: Socket[] = [];
  try {
    for (let count = 0; count < 100; count += 1) {
      const socket = connect(socketOf('mine'));
      socket.on('error', () => {});
      socket.write('GET /1.0/config HTTP/1.1\r\nHost: x\r\nX-Slow: ');
      sockets.push(socket);
    }
    await until(() => sockets.filter((socket) => socket.destroyed).length >= 100 - 64);
    expect((await ask('/1.0/config/user.of', 'theirs')).status).toBe(200);
    expect((await host.tenant('GET', '/1.0/containers/own?project=mine')).status).toBe(200);
    expect((await host.admin.call('GET', '/1.0/containers/victim?project=theirs')).status).toBe(200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
