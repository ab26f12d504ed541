// Requests to a container that ignores its shutdown, which another request waits for without a limit.
import { expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { createContainer, setState, statusOf } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { until } from '../../../support/until.ts';

const daemon = await seededDaemon();

let count = 0;
/** The name of a container that is shutting down for ever, and the end of the request. */
async function shuttingDown(action: 'stop' | 'restart', more = {}): Promise<[name: string, end: Promise<Operation>]> {
  const name = `deaf${(count += 1)}`;
  await createContainer(daemon, name, more);
  expect((await setState(daemon, name, 'start')).err).toBe('');
  daemon.sim.faults.ignoreShutdown(name);
  const end = setState(daemon, name, action);
  await until(async () => (await statusOf(daemon, name)) === 'Stopping');
  return [name, end];
}

test.each([
  ['stop', 'stop', { force: true }, 'Stopped'],
  ['stop', 'stop', { timeout: 0 }, 'Stopped'],
  ['stop', 'restart', { force: true }, 'Running'],
  ['restart', 'stop', { force: true }, 'Stopped'],
  ['restart', 'restart', { force: true }, 'Running'],
] as const)(
  'during a clean %s a forced %s %j kills the container, and both succeed',
  async (clean, forced, more, then) => {
    const [name, end] = await shuttingDown(clean);
    expect(await setState(daemon, name, forced, more)).toMatchObject({ err: '', status: 'Success' });
    expect(await end).toMatchObject({ err: '', status: 'Success' });
    expect(await statusOf(daemon, name)).toBe(then);
    const { config } = await daemon.get(`/1.0/containers/${name}`);
    expect(config['volatile.last_state.power']).toBe(then === 'Running' ? 'RUNNING' : 'STOPPED');
  },
);

test('an ephemeral container is deleted when its shutdown is cut short', async () => {
  const [name, end] = await shuttingDown('stop', { ephemeral: true });
  expect(await setState(daemon, name, 'stop', { force: true })).toMatchObject({ err: '', status: 'Success' });
  expect((await end).status).toBe('Success');
  expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
});

test('no other action cuts a shutdown short', async () => {
  const [name, end] = await shuttingDown('stop');
  const started = daemon.call('PUT', `/1.0/containers/${name}/state`, { action: 'start', force: true, timeout: 0 });
  const { operation } = (await started).body;
  expect((await daemon.get(`${operation}/wait?timeout=1`)).status).toBe('Running');
  expect(await statusOf(daemon, name)).toBe('Stopping');
  await daemon.sim.poweroff(name);
  expect((await end).status).toBe('Success');
  expect((await daemon.wait(operation as string)).status).toBe('Success');
});

/** Resolves to the operations once all requests have been accepted. */
const request = (name: string, ...bodies: object[]): Promise<string[]> =>
  Promise.all(
    bodies.map(async (body) => {
      const answer = await daemon.call('PUT', `/1.0/containers/${name}/state`, body);
      return answer.body.operation as string;
    }),
  );
const endOf = async (operation: string): Promise<[status: string, err: string]> => {
  const { status, err } = await daemon.wait(operation);
  return [status, err];
};

test('a clean stop joins one under way, and both end together', async () => {
  const [name, end] = await shuttingDown('stop');
  const others = await request(name, { action: 'stop' }, { action: 'stop', timeout: 600 });
  await daemon.sim.poweroff(name);
  expect((await end).status).toBe('Success');
  for (const other of others) expect(await endOf(other)).toEqual(['Success', '']);
  expect(await statusOf(daemon, name)).toBe('Stopped');
});

test('a clean stop that joins one without a limit fails after its own time', async () => {
  const [name, end] = await shuttingDown('stop');
  const [other = ''] = await request(name, { action: 'stop', timeout: 1 });
  expect(await endOf(other)).toEqual(['Failure', expect.stringContaining('did not stop in 1000 ms')]);
  expect(await statusOf(daemon, name)).toBe('Stopping');
  await daemon.sim.poweroff(name);
  expect((await end).status).toBe('Success');
});

test('a clean stop after another action does not join a stop before that', async () => {
  const [name, end] = await shuttingDown('stop');
  const [start = '', stop = ''] = await request(name, { action: 'start' }, { action: 'stop', timeout: 1 });
  await daemon.sim.poweroff(name);
  expect((await end).status).toBe('Success');
  expect(await endOf(start)).toEqual(['Success', '']);
  expect(await endOf(stop)).toEqual(['Failure', expect.stringContaining('did not stop')]);
  expect(await statusOf(daemon, name)).toBe('Running');
});

test.each([
  ['stop', 'STOPPED'],
  ['restart', 'RUNNING'],
])('settings of a container that ignores a clean %s can be changed', async (action, then) => {
  const [name, end] = await shuttingDown(action as 'stop' | 'restart');
  const path = `/1.0/containers/${name}`;
  expect((await daemon.call('PATCH', path, { config: { 'limits.memory': '64MB' } })).status).toBe(200);
  expect(daemon.sim.limits(name)).toMatchObject({ 'limits.memory': '64MB' });
  const { config } = await daemon.get(path);
  await daemon.ok('PUT', path, { config: { ...config, 'user.a': 'b' }, profiles: ['default'] });
  expect(await statusOf(daemon, name)).toBe('Stopping');
  await daemon.sim.poweroff(name);
  expect((await end).status).toBe('Success');
  const changed = { 'limits.memory': '64MB', 'user.a': 'b', 'volatile.last_state.power': then };
  expect((await daemon.get(path)).config).toMatchObject(changed);
});
