// Keys of raw.lxc that belong to the daemon are refused in the request, with line and key, not only at a start.
import { beforeAll, describe, expect, test } from 'vitest';
import { createContainer, type Answer } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();
beforeAll(async () => {
  await createContainer(daemon, 'c1');
  await daemon.call('POST', '/1.0/profiles', { name: 'p1' });
});

const bad = { 'raw.lxc': 'lxc.environment = A=b\nlxc.idmap = u 0 0 65536' };

function expectRefusal(answer: Answer): void {
  expect(answer.status, answer.bytes.toString()).toBe(400);
  expect(answer.body.metadata.details).toEqual([
    { path: 'config.raw.lxc', message: expect.stringMatching(/line 2.*"lxc\.idmap" is not allowed: use raw\.idmap/) },
  ]);
}

describe('a key of the daemon in raw.lxc is refused', () => {
  test('when a container is created', async () => {
    const body = { name: 'c2', source: { type: 'none' }, config: bad };
    expectRefusal(await daemon.call('POST', '/1.0/containers', body));
    expect((await daemon.call('GET', '/1.0/containers/c2')).status).toBe(404);
  });

  test('when a container is to be received by migration', async () => {
    const source = { type: 'migration', mode: 'push' };
    expectRefusal(await daemon.call('POST', '/1.0/containers', { name: 'c2', source, config: bad }));
  });

  test.each(['PUT', 'PATCH'])('when a container is changed by %s', async (method) => {
    expectRefusal(await daemon.call(method, '/1.0/containers/c1', { profiles: ['default'], config: bad }));
    expect((await daemon.get('/1.0/containers/c1')).config['raw.lxc']).toBeUndefined();
  });

  test('when a profile is created', async () => {
    expectRefusal(await daemon.call('POST', '/1.0/profiles', { name: 'p2', config: bad }));
    expect((await daemon.call('GET', '/1.0/profiles/p2')).status).toBe(404);
  });

  test.each(['PUT', 'PATCH'])('when a profile is changed by %s', async (method) => {
    expectRefusal(await daemon.call(method, '/1.0/profiles/p1', { config: bad }));
    expect((await daemon.get('/1.0/profiles/p1')).config).toEqual({});
  });
});

test('other lines are accepted', async () => {
  const config = { 'raw.lxc': '# note\nlxc.cap.drop = sys_boot\nlxc.net.0.ipv4.address = 10.0.0.2/24' };
  expect((await daemon.call('PATCH', '/1.0/profiles/p1', { config })).status).toBe(200);
});
