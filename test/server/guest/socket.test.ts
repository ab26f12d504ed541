// The guest socket of containers: its answers, its events, and its lifetime. On simulated containers; with real ones in
// socket-lxc.test.ts.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Pace } from '../../../server/guest/rate-limit.ts';
import { endWhileDown } from '../../../server/drivers/runtime/sim/sim.ts';
import {
  type Answer,
  answerOf,
  call,
  collect,
  createContainer,
  type Json,
  type Listening,
  listenOn,
  makeSeeded,
  seed,
  setState,
  type TestDaemon,
  withDaemon,
} from '../../support/daemons/daemon.ts';
import { until as within } from '../../support/until.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { tempFolder } from '../../support/temp-folder.ts';

/** A limit for busy machines. */
const until = (condition: Parameters<typeof within>[0]): Promise<void> => within(condition, 25_000);

let daemon: TestDaemon;
let count = 0;
beforeAll(async () => (daemon = await makeSeeded()));
afterAll(() => daemon?.cleanUp());

const rootfs = (name: string): string => join(daemon.dir, 'storage-pools/default/containers', name, 'rootfs');
const socketOf = (name: string): string => join(rootfs(name), 'dev/lxd/sock');
const ask = (name: string, path: string, method = 'GET', body?: string): Promise<Answer> =>
  call({ socketPath: socketOf(name) }, method, path, body);
const said = async (name: string, path: string): Promise<[number, string]> => {
  const { status, bytes } = await ask(name, path);
  return [status, bytes.toString()];
};
const listen = async (name: string, query = ''): Promise<Listening> => {
  const listening = await listenOn(`ws+unix://${socketOf(name)}:/1.0/events${query}`);
  return { ...listening, next: (fits) => listening.next(fits, 25_000) };
};

function fresh(prefix: string): string {
  count += 1;
  return `${prefix}${count}`;
}

async function withProfile(config: object = {}): Promise<string> {
  const name = fresh('profile');
  const { status, bytes } = await daemon.call('POST', '/1.0/profiles', { name, config });
  expect([status, bytes.toString()]).toEqual([200, expect.anything()]);
  return name;
}

/** A separate running container for each test. */
async function running(more: object = {}): Promise<string> {
  const name = fresh('guest');
  await createContainer(daemon, name, more);
  expect((await setState(daemon, name, 'start')).status_code).toBe(200);
  return name;
}

describe('the guest socket returns', () => {
  test('the versions, as json without an envelope', async () => {
    const name = await running();
    const root = await ask(name, '/');
    expect(root.headers['content-type']).toBe('application/json');
    expect(root.body).toEqual(['/1.0']);
    expect((await ask(name, '/1.0')).body).toMatchObject({ api_version: '1.0', instance_type: 'container' });
  });

  test('the keys of user.* with profiles applied, each at the address in the list', async () => {
    const profile = await withProfile({ 'user.from-profile': 'p', 'user.both': 'p' });
    const name = await running({
      profiles: ['default', profile],
      config: { 'user.both': 'c', 'user.a/b %?ü': 'odd', 'limits.processes': '7', 'user.two': 'line 1\nline 2' },
    });
    const { body: list } = await ask(name, '/1.0/config');
    const values = await Promise.all((list as string[]).map((path) => said(name, path)));
    expect(values).toEqual([
      [200, 'p'],
      [200, 'c'],
      [200, 'odd'],
      [200, 'line 1\nline 2'],
    ]);
    expect(JSON.stringify(list)).not.toContain('limits');
  });

  test('the keys of cloud-init.* besides those of user.*, with profiles applied, for cloud-init', async () => {
    const profile = await withProfile({ 'cloud-init.vendor-data': '#cloud-config\npackages: [curl]\n' });
    const config = { 'cloud-init.user-data': '#cloud-config\nhostname: a\n', 'user.user-data': 'older' };
    const name = await running({ profiles: ['default', profile], config });
    expect((await ask(name, '/1.0/config')).body).toEqual([
      '/1.0/config/cloud-init.vendor-data',
      '/1.0/config/cloud-init.user-data',
      '/1.0/config/user.user-data',
    ]);
    expect(await said(name, '/1.0/config/cloud-init.vendor-data')).toEqual([200, '#cloud-config\npackages: [curl]\n']);
    expect(await said(name, '/1.0/config/user.user-data')).toEqual([200, 'older']);
    expect((await daemon.get('/1.0')).api_extensions).toContain('cloud_init');
  });

  test('answers with their length, since small programs in guests read no chunks', async () => {
    const name = await running({ config: { 'user.long': 'ü'.repeat(70_000) } });
    for (const path of ['/1.0', '/1.0/meta-data', '/1.0/config/user.long', '/1.0/nowhere']) {
      const { headers, bytes } = await ask(name, path);
      expect([headers['content-length'], headers['transfer-encoding']]).toEqual([String(bytes.length), undefined]);
    }
  });

  test('403 for every other key, set or not, and 404 for an unset one', async () => {
    const name = await running({ config: { 'limits.processes': '7' } });
    for (const key of ['limits.processes', 'volatile.last_state.power', 'image.os', 'raw.lxc', 'userx', '']) {
      expect((await said(name, `/1.0/config/${key}`))[0]).toBe(403);
    }
    for (const key of ['user.none', 'user.__proto__', 'user.']) {
      expect((await said(name, `/1.0/config/${key}`))[0]).toBe(404);
    }
  });

  const idOf = async (name: string): Promise<string> =>
    (await daemon.get(`/1.0/containers/${name}`)).config['volatile.cloud-init.instance-id'];

  test('the meta data of cloud-init, with the user’s additions, and quoted names where needed', async () => {
    const name = await running({ config: { 'user.meta-data': 'extra: 1\n' } });
    const id = await idOf(name);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await said(name, '/1.0/meta-data')).toEqual([
      200,
      `#cloud-config\ninstance-id: ${id}\nlocal-hostname: ${name}\nextra: 1\n`,
    ]);
    const number = fresh('42');
    await createContainer(daemon, number);
    await setState(daemon, number, 'start');
    expect((await said(number, '/1.0/meta-data'))[1]).toBe(
      `#cloud-config\ninstance-id: ${await idOf(number)}\nlocal-hostname: "${number}"\n`,
    );
  });

  test('another identity for cloud-init after each change that it is to act on, and after no other', async () => {
    const profile = await withProfile({});
    const name = fresh('id');
    await createContainer(daemon, name, { profiles: ['default', profile] });
    const ids = [await idOf(name)];
    const changes: readonly (readonly [isNew: boolean, work: () => Promise<unknown>])[] = [
      [
        true,
        () => daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'cloud-init.user-data': '#cloud-config' } }),
      ],
      [
        true,
        () => daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'user.network-config': 'version: 1' } }),
      ],
      [
        true,
        () => daemon.call('PATCH', `/1.0/containers/${name}`, { devices: { eth7: { type: 'nic', nictype: 'p2p' } } }),
      ],
      [true, () => daemon.call('PATCH', `/1.0/profiles/${profile}`, { config: { 'cloud-init.vendor-data': 'x' } })],
      [false, () => daemon.call('PATCH', `/1.0/profiles/${profile}`, { config: { 'user.vendor': 'x' } })],
      [false, () => daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'user.meta-data': 'x: 1' } })],
      [false, () => daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' })],
      [false, () => daemon.ok('PUT', `/1.0/containers/${name}`, { restore: 's' })],
      [true, () => daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'user.user-data': 'y' } })],
      [true, () => daemon.ok('PUT', `/1.0/containers/${name}`, { restore: 's' })],
    ];
    for (const [at, [isNew, work]] of changes.entries()) {
      await work();
      const id = await idOf(name);
      expect([at, id !== ids.at(-1)]).toEqual([at, isNew]);
      if (isNew) expect(ids).not.toContain(id);
      ids.push(id);
    }
    await daemon.ok('POST', '/1.0/containers', { name: `${name}-copy`, source: { type: 'copy', source: name } });
    await daemon.ok('POST', `/1.0/containers/${name}`, { name: `${name}-new` });
    const [copied, renamed] = [await idOf(`${name}-copy`), await idOf(`${name}-new`)];
    expect(new Set([...ids, copied, renamed]).size).toBe(new Set(ids).size + 2);
  });

  test('its devices', async () => {
    const name = await running({ devices: { eth7: { type: 'none' } } });
    expect((await ask(name, '/1.0/devices')).body).toMatchObject({ root: { type: 'disk', path: '/' } });
  });

  test('refusals: unknown paths, other methods, broken escapes, events without a websocket', async () => {
    const name = await running();
    expect((await said(name, '/2.0'))[0]).toBe(404);
    expect((await said(name, '/1.0/containers'))[0]).toBe(404);
    expect((await said(name, '/1.0/config/user.%zz'))[0]).toBe(400);
    expect((await said(name, '/1.0/events'))[0]).toBe(400);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const refused = await ask(name, '/1.0', method, '{}');
      expect(refused.status).toBe(405);
      expect(refused.headers.allow).toBe('GET, HEAD');
    }
    const head = await ask(name, '/1.0', 'HEAD');
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
  });

  test('to every container only its own data', async () => {
    const [a, b] = [await running({ config: { 'user.who': 'a' } }), await running({ config: { 'user.who': 'b' } })];
    expect((await said(a, '/1.0/config/user.who'))[1]).toBe('a');
    expect((await said(b, '/1.0/config/user.who'))[1]).toBe('b');
  });
});

describe('images', () => {
  test('are exported when the container may have them and they are public, byte for byte', async () => {
    const content = `${goodMetadata}properties: {n: "${fresh('n')}"}\n`;
    const image = tarOf({ name: 'metadata.yaml', content, mode: 0o644 }, rootfsDirectory);
    const fingerprint = createHash('sha256').update(image).digest('hex');
    await daemon.ok('POST', '/1.0/images', image, { 'x-svc-public': '1' });
    const name = await running();
    const path = `/1.0/images/${fingerprint}/export`;
    const refused = await ask(name, path);
    expect([refused.status, refused.body.error_code]).toEqual([403, 403]);
    await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'security.devlxd.images': 'true' } });
    const got = await ask(name, path);
    expect(got.status).toBe(200);
    expect(got.bytes.equals(image)).toBe(true);
    expect((await ask(name, `/1.0/images/${fingerprint.slice(0, 12)}/export`)).status).toBe(404);
    await daemon.call('PATCH', `/1.0/images/${fingerprint}`, { public: false });
    const hidden = await ask(name, path);
    expect([hidden.status, hidden.body.error_code]).toEqual([404, 404]);
  });
});

describe('events', () => {
  test('report changes of user.* keys and of devices, and nothing else', async () => {
    const name = await running({ config: { 'user.a': '1' } });
    const heard = await listen(name);
    await daemon.call('PATCH', `/1.0/containers/${name}`, {
      config: { 'user.a': '2', 'user.new': 'x', 'limits.processes': '9' },
      devices: { data: { type: 'disk', source: daemon.dir, path: '/data' } },
    });
    await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'user.a': '' } });
    const last = await heard.next(
      (event) => (event.metadata as Json).key === 'user.a' && (event.metadata as Json).value === '',
    );
    expect(last.timestamp).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(heard.events.map(({ type, metadata }) => [type as string, metadata])).toEqual([
      ['config', { key: 'user.a', old_value: '1', value: '2' }],
      ['config', { key: 'user.new', old_value: '', value: 'x' }],
      ['device', { name: 'data', action: 'added', config: { type: 'disk', source: daemon.dir, path: '/data' } }],
      ['config', { key: 'user.a', old_value: '2', value: '' }],
    ]);
    heard.close();
  });

  test('have only the requested types, and an unknown type is refused', async () => {
    const name = await running({ devices: { data: { type: 'disk', source: daemon.dir, path: '/data' } } });
    const devices = await listen(name, '?type=device');
    const configs = await listen(name, '?type=config');
    await daemon.call('PATCH', `/1.0/containers/${name}`, {
      config: { 'user.k': 'v' },
      devices: { data: { type: 'disk', source: daemon.dir, path: '/other' } },
    });
    expect((await devices.next(() => true)).metadata).toMatchObject({ name: 'data', action: 'updated' });
    expect((await configs.next(() => true)).metadata).toMatchObject({ key: 'user.k' });
    await daemon.call('PUT', `/1.0/containers/${name}`, { config: { 'user.k': 'v' }, profiles: ['default'] });
    expect((await devices.next((event) => (event.metadata as Json).action === 'removed')).type).toBe('device');
    expect([devices.events.length, configs.events.length]).toEqual([2, 1]);
    await expect(listen(name, '?type=lifecycle')).rejects.toThrow('400');
    for (const one of [devices, configs]) one.close();
  });

  test('include changes of a profile, and end with the container', async () => {
    const profile = await withProfile();
    const name = await running({ profiles: ['default', profile] });
    const heard = await listen(name);
    await daemon.call('PATCH', `/1.0/profiles/${profile}`, { config: { 'user.p': '1' } });
    expect((await heard.next(() => true)).metadata).toEqual({ key: 'user.p', old_value: '', value: '1' });
    await setState(daemon, name, 'stop', { force: true });
    await until(() => heard.socket.readyState === heard.socket.CLOSED);
  });
});

describe('the guest socket exists', () => {
  /** Sockets of a running container. Those of others come and go meanwhile, so they are not counted. */
  const directoryOf = (name: string): string => readlinkSync(join(rootfs(name), 'dev/lxd'));

  test('it exists from start to stop, and its host resources are removed with it', async () => {
    const name = await running();
    const directory = directoryOf(name);
    expect(existsSync(directory)).toBe(true);
    await setState(daemon, name, 'stop', { force: true });
    await until(() => !existsSync(directory));
    expect(existsSync(socketOf(name))).toBe(false);
  });

  test('it exists after a reboot from inside, and after a restart of the daemon, on the same container', async () => {
    const name = await running({ config: { 'user.k': 'v' } });
    await daemon.sim.reboot(name);
    expect((await said(name, '/1.0/config/user.k'))[1]).toBe('v');
    await daemon.restart();
    expect((await said(name, '/1.0/config/user.k'))[1]).toBe('v');
  });

  test('it exists after a restart of the daemon for which a guest put a directory in its place', async () => {
    const name = await running({ config: { 'user.k': 'v' } });
    const socket = join(directoryOf(name), 'sock');
    await daemon.restart(async () => {
      await rm(socket, { force: true });
      await mkdir(join(socket, 'full'), { recursive: true });
    });
    expect((await said(name, '/1.0/config/user.k'))[1]).toBe('v');
  });

  test('but not for a container that ended while no daemon ran', async () => {
    const name = await running();
    const directory = directoryOf(name);
    await daemon.restart(() => endWhileDown(join(daemon.dir, 'runtime'), name, 'stop'));
    await until(() => !existsSync(directory));
  });

  test('unless security.devlxd disables it, also while the container runs or from a profile', async () => {
    const profile = await withProfile();
    const name = await running({ profiles: ['default', profile] });
    const heard = await listen(name);
    const set = (value: string) =>
      daemon.call('PATCH', `/1.0/profiles/${profile}`, { config: { 'security.devlxd': value } });
    expect((await set('false')).status).toBe(200);
    await until(() => heard.socket.readyState === heard.socket.CLOSED);
    expect(existsSync(socketOf(name))).toBe(false);
    expect((await set('')).status).toBe(200);
    expect((await said(name, '/1.0'))[0]).toBe(200);
    expect(
      (await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'security.devlxd': 'no' } })).status,
    ).toBe(200);
    expect(existsSync(socketOf(name))).toBe(false);
    await setState(daemon, name, 'restart', { force: true });
    expect(existsSync(socketOf(name))).toBe(false);
  });

  test('no longer after a failed start', async () => {
    const name = fresh('guest');
    await createContainer(daemon, name);
    const directories = (): readonly string[] => readdirSync(join(daemon.dir, 'guests'));
    const before = new Set(directories());
    const undo = daemon.sim.faults.inject({ operation: 'start', container: name, error: 'no power' });
    expect((await setState(daemon, name, 'start')).status_code).toBe(400);
    undo();
    expect(directories().filter((each) => !before.has(each))).toEqual([]);
    expect((await setState(daemon, name, 'start')).status_code).toBe(200);
    expect((await said(name, '/1.0'))[0]).toBe(200);
  });

  test.skipIf(process.platform !== 'linux')(
    'also where the path of the state directory is too long for sockets',
    async () => {
      const base = tempFolder('gtyg-');
      const dir = join(base, 'a'.repeat(85 - base.length));
      await mkdir(dir);
      try {
        await withDaemon({ dir }, async (far) => {
          await seed(far);
          await createContainer(far, 'c1', { config: { 'user.k': 'v' } });
          await symlink(join(dir, 'storage-pools/default/containers/c1/rootfs/dev/lxd'), join(base, 'l'));
          const answer = async () => call({ socketPath: join(base, 'l/sock') }, 'GET', '/1.0/config/user.k');
          for (let round = 0; round < 2; round++) {
            expect((await setState(far, 'c1', 'start')).err).toBe('');
            expect((await answer()).bytes.toString()).toBe('v');
            await far.restart();
            expect((await answer()).bytes.toString()).toBe('v');
            expect((await setState(far, 'c1', 'stop', { force: true })).err).toBe('');
          }
        });
      } finally {
        await rm(base, { recursive: true, force: true });
      }
    },
  );

  test('only inside the root file system, also with a link at /dev', async () => {
    const name = fresh('guest');
    await createContainer(daemon, name);
    symlinkSync(daemon.dir, join(rootfs(name), 'dev'));
    expect((await setState(daemon, name, 'start')).status_code).toBe(200);
    expect(existsSync(join(daemon.dir, 'lxd'))).toBe(false);
  });
});

describe('hostile guests', () => {
  const raw = (name: string): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(socketOf(name), () => resolve(socket));
      socket.on('error', reject);
    });
  const quiet = (socket: Socket): Socket => socket.on('error', () => {});

  test('more connections than the limit are closed, and the others continue', async () => {
    const name = await running();
    const other = await running();
    const sockets = await Promise.all(Array.from({ length: 200 }, async () => quiet(await raw(name))));
    await until(() => sockets.filter((socket) => socket.closed).length >= 200 - 64);
    expect((await said(other, '/1.0'))[0]).toBe(200);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await said(name, '/1.0').catch(() => [0]))[0] === 200);
  });

  test('endless headers and garbage are refused, not buffered', async () => {
    const name = await running();
    const socket = quiet(await raw(name));
    let reply = '';
    socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(1024 * 1024)}`);
    await until(() => socket.closed || socket.readableEnded);
    expect(reply).toMatch(/^HTTP\/1.1 4\d\d /);
    socket.destroy();
  });

  test('an unexpected body ends the connection with the answer', async () => {
    const name = await running();
    const answer = await new Promise<Answer>((resolve, reject) => {
      const request = httpRequest(
        { socketPath: socketOf(name), path: '/1.0', method: 'GET', agent: false, headers: { 'content-length': 1e12 } },
        (response) => {
          collect(response).then(
            (bytes) => resolve(answerOf(response.statusCode ?? 0, response.headers, bytes)),
            reject,
          );
        },
      );
      request.on('error', () => {});
      request.write('x');
    });
    expect([answer.status, answer.headers.connection]).toEqual([200, 'close']);
  });

  test('a listener that does not read is disconnected, and the number of listeners is limited', async () => {
    const name = await running();
    const slow = await listen(name);
    slow.socket.pause();
    const value = 'x'.repeat(400_000);
    for (let round = 0; round < 30 && slow.socket.readyState === slow.socket.OPEN; round++) {
      await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'user.big': `${value}${round}` } });
    }
    slow.socket.resume();
    await until(() => slow.socket.readyState === slow.socket.CLOSED);
    const listeners = await Promise.all(Array.from({ length: 8 }, () => listen(name)));
    await expect(listen(name)).rejects.toThrow('503');
    for (const one of listeners) one.close();
    await until(async () =>
      listen(name).then(
        (one) => (one.close(), true),
        () => false,
      ),
    );
  });

  test('requests sent ahead of answers end the connection, and are not buffered', async () => {
    const name = await running();
    const socket = quiet(await raw(name));
    socket.resume();
    socket.write('GET /1.0 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000));
    await until(() => socket.closed);
    expect((await said(name, '/1.0'))[0]).toBe(200);
  });

  test('requests above the rate limit wait or are refused, and other containers are not affected', async () => {
    const [name, other] = [await running(), await running()];
    const statuses: number[] = [];
    const storm = Promise.all(
      Array.from({ length: 30 }, async () => {
        for (let round = 0; round < 25; round++)
          statuses.push((await ask(name, '/1.0').catch(() => ({ status: 0 }))).status);
      }),
    );
    await until(() => statuses.length > 100);
    expect((await said(other, '/1.0'))[0]).toBe(200);
    await storm;
    expect(statuses).toHaveLength(750);
    expect(statuses.filter((status) => ![200, 429].includes(status))).toEqual([]);
  });
});

describe('the rate limit', () => {
  test('allows a burst, then one request after the other, and refuses one with a long delay without counting it', () => {
    const pace = new Pace({ perSecond: 10, burst: 3, maxWaitMs: 250 });
    expect(Array.from({ length: 6 }, () => pace.next(1_000))).toEqual([0, 0, 0, 100, 200, undefined]);
    expect(pace.next(1_000)).toBeUndefined();
    expect(pace.next(1_100)).toBe(200);
    expect(Array.from({ length: 4 }, () => pace.next(60_000))).toEqual([0, 0, 0, 100]);
  });
});
