// The state machine of containers over the real daemon on the simulation: every row of the table, and its consequences.
import { describe, expect, test, vi } from 'vitest';
import type { RuntimeDriver } from '../../../../server/drivers/runtime/driver.ts';
import { endWhileDown } from '../../../../server/drivers/runtime/sim/sim.ts';
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Records } from '../../../../server/records/records.ts';
import { StoreError } from '../../../../server/store/store.ts';
import {
  createContainer,
  lifecycleOf,
  seed,
  setState,
  statusOf,
  withDaemon,
  type Json,
} from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { until } from '../../../support/until.ts';

const daemon = await seededDaemon();

let count = 0;
async function containerIn(state: string, more: object = {}): Promise<string> {
  const name = `s${(count += 1)}`;
  await createContainer(daemon, name, more);
  if (state !== 'Stopped') await must(name, 'start');
  if (state === 'Frozen') await must(name, 'freeze');
  expect(await statusOf(daemon, name)).toBe(state);
  return name;
}
async function must(name: string, action: string, more: object = {}): Promise<void> {
  const operation = await setState(daemon, name, action, more);
  expect(operation.err).toBe('');
}

const table: readonly (readonly [
  from: string,
  action: string,
  more: object,
  ends: string,
  then: string,
  err?: RegExp,
])[] = [
  ['Stopped', 'start', {}, 'Success', 'Running'],
  ['Stopped', 'stop', {}, 'Failure', 'Stopped', /already stopped/],
  ['Stopped', 'stop', { timeout: 5 }, 'Failure', 'Stopped', /already stopped/],
  ['Stopped', 'stop', { force: true }, 'Failure', 'Stopped', /already stopped/],
  ['Stopped', 'stop', { timeout: 0 }, 'Failure', 'Stopped', /already stopped/],
  ['Stopped', 'restart', {}, 'Failure', 'Stopped', /already stopped/],
  ['Stopped', 'restart', { force: true }, 'Failure', 'Stopped', /already stopped/],
  ['Stopped', 'freeze', {}, 'Failure', 'Stopped', /not running/],
  ['Stopped', 'unfreeze', {}, 'Failure', 'Stopped', /not running/],
  ['Running', 'start', {}, 'Failure', 'Running', /already running/],
  ['Running', 'stop', {}, 'Success', 'Stopped'],
  ['Running', 'stop', { timeout: 5 }, 'Success', 'Stopped'],
  ['Running', 'stop', { timeout: -1 }, 'Success', 'Stopped'],
  ['Running', 'stop', { force: true }, 'Success', 'Stopped'],
  ['Running', 'stop', { timeout: 0 }, 'Success', 'Stopped'],
  ['Running', 'restart', {}, 'Success', 'Running'],
  ['Running', 'restart', { timeout: 5 }, 'Success', 'Running'],
  ['Running', 'restart', { force: true }, 'Success', 'Running'],
  ['Running', 'freeze', {}, 'Success', 'Frozen'],
  ['Running', 'unfreeze', {}, 'Failure', 'Running', /already running/],
  ['Frozen', 'start', {}, 'Failure', 'Frozen', /already running/],
  ['Frozen', 'stop', {}, 'Success', 'Stopped'],
  ['Frozen', 'stop', { timeout: 5 }, 'Success', 'Stopped'],
  ['Frozen', 'stop', { force: true }, 'Success', 'Stopped'],
  ['Frozen', 'stop', { timeout: 0 }, 'Success', 'Stopped'],
  ['Frozen', 'restart', { timeout: 5 }, 'Failure', 'Frozen', /not running/],
  ['Frozen', 'restart', { force: true }, 'Success', 'Running'],
  ['Frozen', 'freeze', {}, 'Failure', 'Frozen', /already frozen/],
  ['Frozen', 'unfreeze', {}, 'Success', 'Running'],
];

describe('state actions', () => {
  const rows = table.map(([from, action, more, ends, then, err]) => [from, action, more, ends, then, err] as const);
  test.each(rows)('%s + %s %j ends as %s and leaves it %s', async (from, action, more, ends, then, err) => {
    const name = await containerIn(from);
    const operation = await setState(daemon, name, action, more);
    expect([operation.status, operation.err]).toEqual([ends, err === undefined ? '' : expect.stringMatching(err)]);
    expect(operation).toMatchObject({
      class: 'task',
      may_cancel: false,
      resources: { containers: [`/1.0/containers/${name}`] },
    });
    expect(await statusOf(daemon, name)).toBe(then);
  });

  test('a clean stop that reaches its timeout fails and the container keeps running', async () => {
    const name = await containerIn('Running');
    daemon.sim.faults.ignoreShutdown(name);
    const operation = await setState(daemon, name, 'stop', { timeout: 1 });
    expect([operation.status, operation.status_code]).toEqual(['Failure', 400]);
    expect(operation.err).toMatch(/did not stop/);
    expect(await statusOf(daemon, name)).toBe('Running');
    const restart = await setState(daemon, name, 'restart', { timeout: 1 });
    expect(restart.status).toBe('Failure');
    expect(await statusOf(daemon, name)).toBe('Running');
    await must(name, 'freeze');
    expect((await setState(daemon, name, 'stop', { timeout: 1 })).status).toBe('Failure');
    expect(await statusOf(daemon, name)).toBe('Running');
    await must(name, 'stop', { force: true });
    expect(await statusOf(daemon, name)).toBe('Stopped');
  });

  test('a timeout of weeks is not treated as none', async () => {
    const name = await containerIn('Running');
    daemon.sim.faults.ignoreShutdown(name);
    const answer = await daemon.call('PUT', `/1.0/containers/${name}/state`, { action: 'stop', timeout: 10_000_000 });
    expect((await daemon.get(`${answer.body.operation}/wait?timeout=1`)).status).toBe('Running');
    await daemon.sim.poweroff(name);
    expect((await daemon.wait(answer.body.operation as string)).status).toBe('Success');
  });

  test.each([
    [{ action: 'explode' }, 'action'],
    [{}, 'action'],
    [{ action: 7 }, 'action'],
    [{ action: 'start', timeout: 'soon' }, 'timeout'],
    [{ action: 'start', timeout: 1.5 }, 'timeout'],
    [{ action: 'start', force: 'yes' }, 'force'],
  ])('the request %j is refused at once', async (body, path) => {
    const name = await containerIn('Stopped');
    const answer = await daemon.call('PUT', `/1.0/containers/${name}/state`, body);
    expect([answer.status, answer.body.metadata.details[0]?.path]).toEqual([400, path]);
  });

  test('each action of a missing container answers 404', async () => {
    expect((await daemon.call('PUT', '/1.0/containers/nobody/state', { action: 'start' })).status).toBe(404);
    expect((await daemon.call('GET', '/1.0/containers/nobody/state')).status).toBe(404);
  });

  test('a start that fails ends as Failure with the reason and leaves it stopped', async () => {
    const name = await containerIn('Stopped');
    daemon.sim.faults.inject({ operation: 'start', container: name, error: 'no room on the moon', times: 1 });
    const operation = await setState(daemon, name, 'start');
    expect([operation.status, operation.status_code]).toEqual(['Failure', 400]);
    expect(operation.err).toMatch(/no room on the moon/);
    expect(await statusOf(daemon, name)).toBe('Stopped');
    await must(name, 'start');
  });

  test('a container whose start cannot be recorded runs, the start succeeds, and it is recorded later', async () => {
    const name = await containerIn('Stopped');
    const { runtime } = daemon.host;
    const start = vi.spyOn(runtime, 'start');
    const commit = vi.spyOn(Records.prototype, 'commit');
    start.mockImplementationOnce(async (run, signal) => {
      start.mockRestore();
      const started = await runtime.start(run, signal);
      commit.mockRejectedValueOnce(new StoreError('Unavailable', 'the disk is full'));
      return started;
    });
    try {
      await must(name, 'start');
    } finally {
      commit.mockRestore();
    }
    expect(await statusOf(daemon, name)).toBe('Running');
    const isRecorded = async (): Promise<boolean> =>
      (await daemon.get(`/1.0/containers/${name}`)).config['volatile.last_state.power'] === 'RUNNING';
    expect(await isRecorded()).toBe(false);
    expect(daemon.logged.some((line) => line.includes(`Recording that ${name} runs failed`))).toBe(true);
    await until(isRecorded);
  });

  test('a start whose forwards cannot be opened says why, also if the container cannot be stopped again', async () => {
    const web = { type: 'proxy', listen: 'tcp:127.0.0.1:8091', connect: 'tcp:127.0.0.1:80' };
    const other = await containerIn('Running', { devices: { web } });
    const name = await containerIn('Stopped', { devices: { web } });
    daemon.sim.faults.inject({ operation: 'stop', container: name, error: 'init does not end', times: 1 });
    const operation = await setState(daemon, name, 'start');
    expect([operation.status, operation.err]).toEqual(['Failure', expect.stringMatching(/8091 belongs to/)]);
    expect(daemon.logged.some((line) => line.includes(`Stopping ${name}, whose devices`))).toBe(true);
    for (const each of [name, other]) await must(each, 'stop', { force: true });
  });

  test('readers see Starting, Stopping and Freezing during an action', async () => {
    const name = await containerIn('Stopped');
    for (const [action, operation, shown] of [
      ['start', 'start', 'Starting'],
      ['freeze', 'freeze', 'Freezing'],
      ['unfreeze', 'unfreeze', ''],
      ['stop', 'stop', 'Stopping'],
    ] as const) {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      daemon.sim.faults.inject({ operation, container: name, held, times: 1 });
      const answer = await daemon.call('PUT', `/1.0/containers/${name}/state`, { action });
      if (shown !== '') {
        await until(async () => (await statusOf(daemon, name)) === shown);
        expect((await daemon.get(`/1.0/containers/${name}/state`)).status).toBe(shown);
      }
      release();
      expect((await daemon.wait(answer.body.operation as string)).err).toBe('');
    }
  });

  test('many actions on one container at once run one after the other', async () => {
    const name = await containerIn('Stopped');
    const starts = await Promise.all(Array.from({ length: 8 }, () => setState(daemon, name, 'start')));
    expect(starts.filter((operation) => operation.status === 'Success')).toHaveLength(1);
    const mixed = await Promise.all(
      ['stop', 'start', 'restart', 'freeze', 'unfreeze', 'stop', 'start'].map((action) =>
        setState(daemon, name, action, { timeout: 5 }),
      ),
    );
    expect(mixed.every((operation) => operation.status_code >= 200)).toBe(true);
    expect(['Running', 'Stopped', 'Frozen']).toContain(await statusOf(daemon, name));
  });

  test('a start during a deletion, and a deletion during a start, leave no half container', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = await containerIn('Stopped');
      const answers = await Promise.all([
        daemon.call('DELETE', `/1.0/containers/${name}`),
        daemon.call('PUT', `/1.0/containers/${name}/state`, { action: 'start' }),
      ]);
      const operations = await Promise.all(
        answers.filter((answer) => answer.status === 202).map((answer) => daemon.wait(answer.body.operation as string)),
      );
      const there = (await daemon.call('GET', `/1.0/containers/${name}`)).status === 200;
      expect(daemon.sim.probe(name).status).toBe(there ? 'running' : 'stopped');
      expect(operations.filter((operation) => operation.status === 'Success')).toHaveLength(1);
    }
  });
});

describe('the record of a run', () => {
  test('each start updates last_used_at, and the power state is stored', async () => {
    const name = await containerIn('Running');
    const first = await daemon.get(`/1.0/containers/${name}`);
    expect(first.last_used_at > first.created_at).toBe(true);
    expect(first.config['volatile.last_state.power']).toBe('RUNNING');
    await must(name, 'restart', { force: true });
    const second = await daemon.get(`/1.0/containers/${name}`);
    expect(second.last_used_at > first.last_used_at).toBe(true);
    await must(name, 'stop');
    const third = await daemon.get(`/1.0/containers/${name}`);
    expect(third.config['volatile.last_state.power']).toBe('STOPPED');
    expect(third.last_used_at).toBe(second.last_used_at);
  });

  test('notes of another server about the interface of a card go when the container stops', async () => {
    const noted = {
      'volatile.eth0.last_state.created': 'false',
      'volatile.eth0.last_state.hwaddr': '00:16:3e:00:00:01',
      'volatile.eth0.last_state.mtu': '1500',
      'volatile.eth0.hwaddr': '00:16:3e:00:00:02',
    };
    const devices = { eth0: { type: 'nic', nictype: 'p2p', name: 'eth0' } };
    const name = await containerIn('Running', { devices, config: noted });
    expect((await daemon.get(`/1.0/containers/${name}`)).config).toMatchObject(noted);
    await must(name, 'stop', { force: true });
    const { config } = await daemon.get(`/1.0/containers/${name}`);
    expect(Object.keys(config).filter((key) => key.includes('eth0.last_state'))).toEqual([]);
    expect(config).toMatchObject({
      'volatile.eth0.hwaddr': '00:16:3e:00:00:02',
      'volatile.last_state.power': 'STOPPED',
    });
  });

  test('a running container has state figures, and a stopped one zeros', async () => {
    const nic = { type: 'nic', nictype: 'p2p', name: 'eth0' };
    const name = await containerIn('Running', { devices: { eth0: nic } });
    const running = await daemon.get(`/1.0/containers/${name}/state`);
    expect(running).toMatchObject({ status: 'Running', status_code: 103 });
    expect(running.cpu.usage).toBeGreaterThanOrEqual(0);
    expect(running.memory.usage).toBeGreaterThan(0);
    expect(running.network.eth0).toMatchObject({ type: 'broadcast', state: 'up' });
    expect(running.network.lo).toMatchObject({ type: 'loopback', hwaddr: '' });
    await must(name, 'freeze');
    expect(await daemon.get(`/1.0/containers/${name}/state`)).toMatchObject({ status: 'Frozen', status_code: 110 });
    await must(name, 'stop', { force: true });
    expect(await daemon.get(`/1.0/containers/${name}/state`)).toEqual({
      status: 'Stopped',
      status_code: 102,
      cpu: { usage: 0 },
      disk: {},
      memory: { usage: 0, usage_peak: 0, swap_usage: 0, swap_usage_peak: 0 },
      network: null,
      pid: 0,
      processes: 0,
    });
  });

  test('a missing requirement of a device is reported at the start', async () => {
    const source = join(daemon.dir, 'unmounted');
    mkdirSync(source);
    const name = await containerIn('Stopped', { devices: { data: { type: 'disk', path: '/data', source } } });
    rmdirSync(source);
    const operation = await setState(daemon, name, 'start');
    expect(operation.status).toBe('Failure');
    expect(operation.err).toContain(source);
  });
});

describe('lifecycle events of state actions', () => {
  test.each([
    ['start', 'Stopped', {}, ['container-started']],
    ['stop', 'Running', {}, ['container-shutdown']],
    ['stop', 'Running', { force: true }, ['container-stopped']],
    ['restart', 'Running', {}, ['container-shutdown', 'container-started']],
    ['restart', 'Running', { force: true }, ['container-stopped', 'container-started']],
    ['freeze', 'Running', {}, ['container-paused']],
    ['unfreeze', 'Frozen', {}, ['container-resumed']],
  ])('%s of a %s one with %j sends %j', async (action, from, more, actions) => {
    const name = await containerIn(from);
    const listening = await daemon.listen('lifecycle,operation');
    const answer = await daemon.call('PUT', `/1.0/containers/${name}/state`, { action, ...more });
    await listening.next(
      (event) => (event.metadata as Json).id === answer.metadata.id && (event.metadata as Json).status_code >= 200,
    );
    const received = listening.events.map(lifecycleOf).filter((each) => each.source === `/1.0/containers/${name}`);
    expect(received.map((each) => each.action)).toEqual(actions);
    listening.close();
  });
});

describe('a container that ends by itself', () => {
  test('is noticed: stopped, its power state kept, listeners notified', async () => {
    const name = await containerIn('Running');
    const listening = await daemon.listen('lifecycle');
    await daemon.sim.poweroff(name);
    await listening.next((event) => lifecycleOf(event).action === 'container-stopped');
    await until(
      async () => (await daemon.get(`/1.0/containers/${name}`)).config['volatile.last_state.power'] === 'STOPPED',
    );
    expect(await statusOf(daemon, name)).toBe('Stopped');
    listening.close();
  });

  test('is deleted if ephemeral; a reboot from inside does not count as an end', async () => {
    const name = await containerIn('Running', { ephemeral: true });
    const listening = await daemon.listen('lifecycle');
    await daemon.sim.reboot(name);
    await listening.next((event) => lifecycleOf(event).action === 'container-restarted');
    expect(await statusOf(daemon, name)).toBe('Running');
    await daemon.sim.poweroff(name);
    await listening.next((event) => lifecycleOf(event).action === 'container-deleted');
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
    listening.close();
  });

  test('stays stopped if no daemon ran, and is deleted if ephemeral', async () => {
    await withDaemon({}, async (own) => {
      await seed(own);
      await createContainer(own, 'a');
      await createContainer(own, 'e', { ephemeral: true });
      await createContainer(own, 'r');
      for (const name of ['a', 'e', 'r']) await own.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
      await own.restart(() => {
        endWhileDown(join(own.dir, 'runtime'), 'a', 'stop');
        endWhileDown(join(own.dir, 'runtime'), 'e', 'stop');
      });
      await until(async () => (await own.call('GET', '/1.0/containers/e')).status === 404);
      await until(async () => (await own.get('/1.0/containers/a')).config['volatile.last_state.power'] === 'STOPPED');
      expect([await statusOf(own, 'a'), await statusOf(own, 'r')]).toEqual(['Stopped', 'Running']);
    });
  });
});

describe('ephemeral containers', () => {
  test.each([{}, { force: true }])('are deleted after a stop %j', async (more) => {
    const name = await containerIn('Running', { ephemeral: true });
    await must(name, 'stop', more);
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  });

  test('survive a restart', async () => {
    const name = await containerIn('Running', { ephemeral: true });
    await must(name, 'restart', { force: true });
    expect(await daemon.get(`/1.0/containers/${name}`)).toMatchObject({ status: 'Running', ephemeral: true });
  });
});

test('a start notifies the runtime before its preparation, so that slow work begins at once; a refused one does not', async () => {
  const name = await containerIn('Stopped');
  const runtime: RuntimeDriver = daemon.host.runtime;
  const published: string[] = [];
  runtime.expectStart = () => void published.push(runtime.probe(name).status);
  try {
    await must(name, 'start');
    expect((await setState(daemon, name, 'start', {})).err).toContain('already running');
  } finally {
    delete runtime.expectStart;
  }
  expect(published).toEqual(['stopped']);
});

test.each([{ force: true }, { timeout: 5 }])(
  'a restart %j that could not start the container again does not stop it',
  async (more) => {
    const name = await containerIn('Running');
    const logs = join(daemon.dir, 'logs', name);
    rmSync(logs, { recursive: true, force: true });
    // Not even root can write into a directory that is a file, as with one that is read-only.
    writeFileSync(logs, '');
    const failed = await setState(daemon, name, 'restart', more);
    expect([failed.status, failed.err]).toEqual(['Failure', expect.stringContaining(`${logs} cannot be written`)]);
    expect(await statusOf(daemon, name)).toBe('Running');
    rmSync(logs);
    await must(name, 'restart', more);
    expect(await statusOf(daemon, name)).toBe('Running');
  },
);
