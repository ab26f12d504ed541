// Warnings over the real daemon on the simulation: their causes, their end, and how clients handle them.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SimRuntime } from '../../../../server/drivers/runtime/sim/sim.ts';
import type { SimNetwork } from '../../../../server/drivers/network/sim.ts';
import {
  createContainer,
  emptySource,
  makeDaemon,
  seed,
  setState,
  type Json,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { testMinutes } from '../../../support/daemons/clock.ts';
import { until } from '../../../support/until.ts';

const minuteMs = 60_000;
const minutes = testMinutes('2026-03-01T10:00:30Z');
/** At the start of the daemon. */
const broken = { start: '', up: '' };
let daemon: TestDaemon;

beforeAll(async () => {
  daemon = await makeDaemon({
    time: minutes.time,
    adapt: (host) => {
      const [runtime, network] = [host.runtime as SimRuntime, host.network as SimNetwork];
      if (broken.start !== '') runtime.faults.inject({ operation: 'start', container: broken.start, error: 'no room' });
      if (broken.up !== '') network.faults.inject({ operation: 'up', network: broken.up, error: 'no such device' });
      return { ...host, runtime: Object.assign(runtime, { missing: ['pids', 'apparmor', 'apparmorParser'] }) };
    },
  });
  await seed(daemon);
});
afterAll(() => daemon.cleanUp());

const list = async (query = ''): Promise<Json[]> => daemon.get(`/1.0/warnings?recursion=1${query}`);
const find = async (type: string, entity = ''): Promise<Json> =>
  (await list()).find((one) => one.type === type && one.entity_url === entity);
/** The warning once it has that status. */
async function warning(type: string, entity: string, status: string): Promise<Json> {
  await until(async () => (await find(type, entity))?.status === status);
  return find(type, entity);
}
const autostart = 'Failed to autostart instance';

describe('the causes of warnings', () => {
  test('a container that does not start with the daemon, until it starts', async () => {
    await createContainer(daemon, 'auto', { config: { 'boot.autostart': 'true' } });
    broken.start = 'auto';
    for (const count of [1, 2]) {
      await daemon.restart();
      const seen = await warning(autostart, '/1.0/containers/auto', 'new');
      await until(async () => (await find(autostart, '/1.0/containers/auto')).count === count);
      expect(seen).toMatchObject({ location: 'none', project: 'default', severity: 'low' });
      expect(seen.last_message).toContain('no room');
    }
    daemon.sim.faults.clear();
    broken.start = '';
    await setState(daemon, 'auto', 'start');
    const over = await warning(autostart, '/1.0/containers/auto', 'resolved');
    expect(over).toMatchObject({ count: 2 });
    minutes.pass(minuteMs);
    await daemon.restart();
    expect(await find(autostart, '/1.0/containers/auto')).toEqual(over);
  });

  test('a network that does not come up, which is retried each minute', async () => {
    const config = { 'ipv4.address': 'none', 'ipv6.address': 'none' };
    await daemon.call('POST', '/1.0/networks', { name: 'gtywn0', config });
    broken.up = 'gtywn0';
    await daemon.restart();
    const seen = await warning('Network unavailable', '/1.0/networks/gtywn0', 'new');
    expect(seen).toMatchObject({ project: 'default', severity: 'high', count: 1 });
    minutes.pass(minuteMs);
    minutes.pass(minuteMs);
    daemon.simNetwork.faults.clear();
    broken.up = '';
    minutes.pass(minuteMs);
    const over = await warning('Network unavailable', '/1.0/networks/gtywn0', 'resolved');
    expect(over.count).toBe(1);
    minutes.pass(24 * 60 * minuteMs);
    await until(async () => (await find('Network unavailable', '/1.0/networks/gtywn0')) === undefined);
  });

  test('a storage pool whose directory vanishes, and returns', async () => {
    const folder = join(daemon.dir, 'storage-pools', 'default');
    renameSync(folder, `${folder}-away`);
    minutes.pass(minuteMs);
    const seen = await warning('Storage pool unavailable', '/1.0/storage-pools/default', 'new');
    expect(seen).toMatchObject({ project: '', severity: 'high' });
    expect(seen.last_message).toContain('has gone');
    renameSync(`${folder}-away`, folder);
    minutes.pass(minuteMs);
    await warning('Storage pool unavailable', '/1.0/storage-pools/default', 'resolved');
  });

  test('scheduled snapshots of containers and volumes that fail, until one is taken', async () => {
    const schedule = { 'snapshots.schedule': '* * * * *', 'snapshots.schedule.stopped': 'true' };
    await createContainer(daemon, 'often', { config: schedule });
    const volume = '/1.0/storage-pools/default/volumes/custom/often';
    const config = { 'snapshots.schedule': '* * * * *' };
    await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'often', config });
    const driver = daemon.host.storage['dir'] as { createSnapshot: unknown };
    const { createSnapshot } = driver;
    driver.createSnapshot = () => Promise.reject(new Error('a bad block'));
    try {
      minutes.pass(minuteMs);
      for (const entity of ['/1.0/containers/often', volume]) {
        const seen = await warning('Scheduled snapshot failed', entity, 'new');
        expect(seen).toMatchObject({ severity: 'moderate', project: 'default' });
        expect(seen.last_message).toContain('a bad block');
      }
    } finally {
      driver.createSnapshot = createSnapshot;
    }
    minutes.pass(minuteMs);
    for (const entity of ['/1.0/containers/often', volume])
      await warning('Scheduled snapshot failed', entity, 'resolved');
    for (const path of ['/1.0/containers/often', volume])
      await daemon.call('PATCH', path, { config: { 'snapshots.schedule': '' } });
  });

  test('missing features of the host, for limits only if a container has them', async () => {
    expect(await warning('AppArmor support has been disabled', '', 'new')).toMatchObject({
      severity: 'low',
      project: '',
    });
    expect(await warning('Containers run unconfined', '', 'new')).toMatchObject({
      severity: 'high',
      last_message: expect.stringContaining('apparmor_parser is missing'),
    });
    const pids = "Couldn't find the CGroup pids controller";
    expect(await find(pids)).toBeUndefined();
    await createContainer(daemon, 'limited', { config: { 'limits.processes': '50' } });
    minutes.pass(minuteMs);
    expect((await warning(pids, '', 'new')).last_message).toBe(
      'The kernel lacks the control group controller pids, so limits.processes of limited have no effect',
    );
    await daemon.ok('DELETE', '/1.0/containers/limited');
    minutes.pass(minuteMs);
    await warning(pids, '', 'resolved');
  });

  test('sizes of root disks that a pool cannot enforce, until there is none, and no project relies on one', async () => {
    const text = 'Size of root disks not enforced';
    const devices = { root: { type: 'disk', path: '/', pool: 'default', size: '1GiB' } };
    minutes.pass(minuteMs);
    expect(await find(text)).toBeUndefined();
    await createContainer(daemon, 'sized', { devices });
    minutes.pass(minuteMs);
    const seen = await warning(text, '/1.0/storage-pools/default', 'new');
    expect([seen.severity, seen.last_message]).toEqual([
      'moderate',
      expect.stringMatching(/of driver dir .* of sized has no/),
    ]);
    for (const limit of ['limits.disk', 'limits.disk.pool.default']) {
      const project = limit.replaceAll('.', '-');
      await daemon.call('POST', '/1.0/projects', {
        name: project,
        config: { 'features.images': 'false', [limit]: '5GiB' },
      });
      const body = { name: 'x', source: emptySource, devices };
      const refused = await daemon.call('POST', `/1.0/containers?project=${project}`, body);
      expect([refused.status, refused.bytes.toString()]).toEqual([400, expect.stringContaining('devices.root.size')]);
    }
    await daemon.ok('DELETE', '/1.0/containers/sized');
    minutes.pass(minuteMs);
    await warning(text, '/1.0/storage-pools/default', 'resolved');
  });

  test('an address of the config on which the server cannot listen', async () => {
    await daemon.call('PATCH', '/1.0', { config: { 'core.metrics_address': '192.0.2.1:9100' } });
    minutes.pass(minuteMs);
    expect((await warning('Address unavailable', '', 'new')).last_message).toContain('core.metrics_address 192.0.2.1');
    await daemon.call('PATCH', '/1.0', { config: { 'core.metrics_address': '' } });
    minutes.pass(minuteMs);
    await warning('Address unavailable', '', 'resolved');
  });
});

describe('the objects of warnings', () => {
  /** A warning about that container. */
  async function failing(name: string, project = 'default'): Promise<Json> {
    const query = project === 'default' ? '' : `?project=${project}`;
    const config = { 'snapshots.schedule': '@startup' };
    await daemon.ok('POST', `/1.0/containers${query}`, { name, source: emptySource, config });
    const driver = daemon.host.storage['dir'] as { createSnapshot: unknown };
    const { createSnapshot } = driver;
    driver.createSnapshot = () => Promise.reject(new Error(`a bad block under ${project}%${name}`));
    await daemon.ok('PUT', `/1.0/containers/${name}/state${query}`, { action: 'start' });
    driver.createSnapshot = createSnapshot;
    await daemon.ok('PUT', `/1.0/containers/${name}/state${query}`, { action: 'stop', force: true });
    return warning('Scheduled snapshot failed', `/1.0/containers/${name}${query}`, 'new');
  }

  test('a warning follows a rename, and goes with its container', async () => {
    const { uuid } = await failing('renamed');
    await daemon.ok('POST', '/1.0/containers/renamed', { name: 'other' });
    for (let looks = 0; looks < 2; looks += 1) {
      expect((await daemon.get(`/1.0/warnings/${uuid}`)).entity_url).toBe('/1.0/containers/other');
      minutes.pass(minuteMs);
    }
    await daemon.ok('DELETE', '/1.0/containers/other');
    expect((await daemon.call('GET', `/1.0/warnings/${uuid}`)).status).toBe(404);
    await createContainer(daemon, 'other');
    expect((await daemon.call('GET', `/1.0/warnings/${uuid}`)).status).toBe(404);
    minutes.pass(minuteMs);
    await daemon.restart();
    expect((await daemon.call('GET', `/1.0/warnings/${uuid}`)).status).toBe(404);
  });

  test('a warning belongs to the project of its object, and names objects as people do', async () => {
    await daemon.call('POST', '/1.0/projects', { name: 'apart', config: { 'features.profiles': 'false' } });
    const seen = await failing('inside', 'apart');
    expect(seen).toMatchObject({ project: 'apart', entity_url: '/1.0/containers/inside?project=apart' });
    expect(seen.last_message).toContain('a bad block under inside');
    expect(await daemon.get('/1.0/warnings?project=apart')).toEqual([`/1.0/warnings/${seen.uuid}`]);
    expect((await list('&project=default')).map((one) => one.uuid)).not.toContain(seen.uuid);
    expect((await daemon.call('GET', '/1.0/warnings?project=none')).status).toBe(404);
  });
});

describe('actions of clients on a warning', () => {
  const type = 'AppArmor support has been disabled';

  test('it is acknowledged, made new again and deleted, with an event each', async () => {
    const { uuid } = await warning(type, '', 'new');
    const path = `/1.0/warnings/${uuid}`;
    const events = await daemon.listen('lifecycle');
    for (const [method, status, action] of [
      ['PUT', 'acknowledged', 'warning-acknowledged'],
      ['PATCH', 'new', 'warning-reset'],
    ] as const) {
      const answer = await daemon.call(method, path, { status });
      expect([answer.status, answer.metadata]).toEqual([200, {}]);
      expect((await daemon.get(path)).status).toBe(status);
      const event = await events.next(({ metadata }) => (metadata as Json).action === action);
      expect(event.metadata).toMatchObject({ source: path });
    }
    await daemon.call('PUT', path, { status: 'acknowledged' });
    minutes.pass(minuteMs);
    await daemon.restart();
    expect(await find(type)).toMatchObject({ uuid, status: 'acknowledged', count: 1 });
    const late = await daemon.listen('lifecycle');
    expect((await daemon.call('DELETE', path)).status).toBe(200);
    await late.next(({ metadata }) => (metadata as Json).action === 'warning-deleted');
    expect((await daemon.call('DELETE', path)).status).toBe(404);
    // Its cause is still there.
    minutes.pass(minuteMs);
    expect((await warning(type, '', 'new')).uuid).not.toBe(uuid);
    events.close();
    late.close();
  });

  test('other statuses, other warnings and old ETags are refused', async () => {
    const { uuid } = await warning(type, '', 'new');
    const path = `/1.0/warnings/${uuid}`;
    const put = async (body: unknown, headers = {}, to = path) => {
      const answer = await daemon.call('PUT', to, body as object, headers);
      return [answer.status, answer.body.metadata.message];
    };
    expect(await put({ status: 'resolved' })).toEqual([403, expect.stringContaining('set new or acknowledged')]);
    expect(await put({ status: 'constructor' })).toEqual([400, expect.stringContaining('must be new or acknowledged')]);
    expect((await put({}))[0]).toBe(400);
    expect((await put({ status: 7 }))[0]).toBe(400);
    expect(await put({ status: 'new' }, {}, '/1.0/warnings/none')).toEqual([404, 'The warning none was not found']);
    expect((await put({ status: 'new' }, { 'if-match': 'old' }))[0]).toBe(412);
    const { headers } = await daemon.call('GET', path);
    expect((await put({ status: 'acknowledged' }, { 'if-match': headers['etag'] }))[0]).toBe(200);
    expect((await daemon.call('PUT', path, { status: 'new' })).status).toBe(200);
  });

  test('metrics count the causes that are not over', async () => {
    const active = (await list()).filter(({ status }) => status !== 'resolved').length;
    const text = (await daemon.call('GET', '/1.0/metrics')).bytes.toString();
    expect(active).toBeGreaterThan(0);
    expect(text).toContain(`\nlxd_warnings_total ${active}\n`);
  });
});
