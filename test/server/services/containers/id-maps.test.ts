// Host ids of containers, over the real daemon: recorded, disjoint, and refused with clear messages; and their effect on files,
// commands and the kernel's view in real containers.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Changes } from '../../../../server/records/changes.ts';
import { kernelMap } from '../../../../server/drivers/runtime/idmap/user-namespaces.ts';
import { parseIdMap } from '../../../../server/drivers/runtime/idmap/plan.ts';
import type { HostDrivers } from '../../../../server/daemon/host-drivers.ts';
import { makeBusyboxRootfs } from '../../../support/images/busybox-rootfs.ts';
import {
  call,
  createContainer,
  makeDaemon,
  makeSeeded,
  realRuntimeMissing,
  seed,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild } from '../../../support/daemons/child-process.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const missing = await realRuntimeMissing();
const isolated = { 'security.idmap.isolated': 'true' };
let count = 0;
const fresh = (): string => `m${process.pid}-${++count}`;

interface Slice {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

function sliceOf(name: string, config: Record<string, string>): Slice {
  const base = Number(config['volatile.idmap.base']);
  const map = parseIdMap(config['volatile.idmap.next']) ?? [];
  const size = Math.max(...map.map((entry) => entry.nsid + entry.maprange));
  expect(map[0]?.hostid).toBe(base);
  return { name, start: base, end: base + size };
}

function expectDisjoint(slices: readonly Slice[]): void {
  const sorted = slices.toSorted((a, b) => a.start - b.start);
  for (const [index, slice] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next !== undefined) expect(slice.end, `${slice.name} and ${next.name}`).toBeLessThanOrEqual(next.start);
  }
}

/** Ids of this host that a test of raw.idmap may use. */
const lending =
  (start: number, size: number) =>
  (host: HostDrivers): HostDrivers => {
    const more = { start, count: size };
    const { uid, gid } = host.ids.allowed;
    return { ...host, ids: { ...host.ids, allowed: { uid: [...uid, more], gid: [...gid, more] } } };
  };

describe('recorded id maps', () => {
  let daemon: TestDaemon;
  const config = async (name: string): Promise<Record<string, string>> =>
    (await daemon.get(`/1.0/containers/${name}`)).config;
  const path = (name: string): string => `/1.0/containers/${name}`;

  beforeAll(async () => (daemon = await makeSeeded({ adapt: lending(1000, 1) })));
  afterAll(() => daemon.cleanUp());

  test('a new container has the shared map, its files have its ids, and a start records the map in use', async () => {
    const name = fresh();
    await createContainer(daemon, name);
    const before = await config(name);
    expect(before).toMatchObject({ 'volatile.idmap.base': '0', 'volatile.last_state.idmap': '[]' });
    expect(parseIdMap(before['volatile.idmap.next'])).toHaveLength(2);
    expect(before).not.toHaveProperty('volatile.idmap.current');
    await setState(daemon, name, 'start');
    const after = await config(name);
    expect(after['volatile.idmap.current']).toBe(before['volatile.idmap.next']);
    expect(after['volatile.last_state.idmap']).toBe('[]');
    await daemon.call('PATCH', path(name), { config: { 'security.privileged': 'true' } });
    expect(await config(name)).toMatchObject({
      'volatile.idmap.next': '[]',
      'volatile.idmap.current': after['volatile.idmap.current'],
    });
  });

  test('isolated containers made at once have separate ids, which stay theirs and are reused after a deletion', async () => {
    const names = Array.from({ length: 8 }, fresh);
    await Promise.all(names.map((name) => createContainer(daemon, name, { config: isolated })));
    const slices = await Promise.all(names.map(async (name) => sliceOf(name, await config(name))));
    expectDisjoint(slices);
    const [first, second] = [names[0] ?? '', names[1] ?? ''];
    await Promise.all(names.map((name) => setState(daemon, name, 'start')));
    expect(await Promise.all(names.map(async (name) => sliceOf(name, await config(name))))).toEqual(slices);
    await daemon.ok('PUT', path(second), { profiles: ['default'], config: { ...isolated, 'user.note': 'x' } });
    expect(sliceOf(second, await config(second))).toEqual(slices[1]);
    await setState(daemon, first, 'stop', { force: true });
    await daemon.ok('DELETE', path(first));
    const heir = fresh();
    await createContainer(daemon, heir, { config: isolated });
    expect(sliceOf(heir, await config(heir)).start).toBe(slices[0]?.start);
    const copy = fresh();
    await createContainer(daemon, copy, { source: { type: 'copy', source: second } });
    expectDisjoint([sliceOf(copy, await config(copy)), ...slices]);
    for (const name of [...names.slice(1), heir, copy]) {
      await setState(daemon, name, 'stop', { force: true });
      await daemon.ok('DELETE', path(name));
    }
  });

  test('a copy of a container whose files have unknown ids does not record them as known', async () => {
    const [old, copy] = [fresh(), fresh()];
    type Put = (kind: string, name: string, document: { readonly config: Record<string, string> }) => void;
    // oxlint-disable-next-line typescript/unbound-method -- it is called with its own this
    const put = Changes.prototype.put as Put;
    const asOlder: Put = function (this: Changes, kind, name, document) {
      const { 'volatile.last_state.idmap': _unknown, ...kept } = document.config ?? {};
      put.call(this, kind, name, name === old ? { ...document, config: kept } : document);
    };
    const spied = vi.spyOn(Changes.prototype, 'put').mockImplementation(asOlder as typeof Changes.prototype.put);
    await createContainer(daemon, old).finally(() => spied.mockRestore());
    expect(await config(old)).not.toHaveProperty('volatile.last_state.idmap');
    await createContainer(daemon, copy, { config: isolated, source: { type: 'copy', source: old } });
    expect(await config(copy)).not.toHaveProperty('volatile.last_state.idmap');
    await setState(daemon, copy, 'start');
    expect(await config(copy)).toHaveProperty('volatile.last_state.idmap');
  });

  test('a map that files brought from elsewhere reserves no ids', async () => {
    const entry = { Isuid: true, Isgid: true, Hostid: 0, Nsid: 0, Maprange: 2 ** 31 };
    const foreign = fresh();
    await createContainer(daemon, foreign, { config: { 'volatile.last_state.idmap': JSON.stringify([entry]) } });
    const { config } = await daemon.get(`/1.0/containers/${foreign}`);
    expect(config['volatile.last_state.idmap']).toContain('2147483648');
    const own = fresh();
    await createContainer(daemon, own, { config: isolated });
    sliceOf(own, (await daemon.get(`/1.0/containers/${own}`)).config);
  });

  test('ids of a running container stay reserved, although its next start will use others', async () => {
    const [runs, other] = [fresh(), fresh()];
    await createContainer(daemon, runs, { config: isolated });
    await setState(daemon, runs, 'start');
    const held = sliceOf(runs, await config(runs));
    await daemon.call('PATCH', path(runs), { config: { 'security.idmap.isolated': '' } });
    await createContainer(daemon, other, { config: isolated });
    expectDisjoint([held, sliceOf(other, await config(other))]);
    await setState(daemon, runs, 'stop', { force: true });
    for (const name of [runs, other]) await daemon.ok('DELETE', path(name));
  });

  test('a configured size is respected, also from a profile; a restored snapshot restores the ids of its config', async () => {
    const [profile, name] = [fresh(), fresh()];
    await daemon.call('POST', '/1.0/profiles', { name: profile });
    await createContainer(daemon, name, { profiles: ['default', profile], config: isolated });
    await daemon.ok('POST', `${path(name)}/snapshots`, { name: 'then' });
    await daemon.call('PATCH', `/1.0/profiles/${profile}`, { config: { 'security.idmap.size': '131072' } });
    expect(sliceOf(name, await config(name))).toMatchObject({ name });
    const wide = sliceOf(name, await config(name));
    expect(wide.end - wide.start).toBe(131_072);
    await daemon.call('PATCH', path(name), {
      config: { 'security.idmap.size': '70000', 'security.idmap.isolated': '' },
    });
    expect((await config(name))['volatile.idmap.base']).toBe('0');
    await daemon.ok('PUT', path(name), { restore: 'then' });
    expect((await config(name))['volatile.idmap.base']).not.toBe('0');
    const refused = await daemon.call('PATCH', `/1.0/profiles/${profile}`, {
      config: { 'security.idmap.size': '4000000000' },
    });
    expect([refused.status, refused.metadata.message]).toEqual([
      400,
      expect.stringMatching(/security\.idmap\.size.*4000000000/),
    ]);
    await daemon.ok('DELETE', path(name));
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['too small a map', { ...isolated, 'security.idmap.size': '1000' }, /security\.idmap\.size.*"1000".*65536/],
    ['a base outside the range of the host', { ...isolated, 'security.idmap.base': '7' }, /security\.idmap\.base.*"7"/],
    ['host ids that are not to give', { 'raw.idmap': 'both 1 1' }, /raw\.idmap.*both 1 1.*subuid/],
    ['ids mapped twice', { 'raw.idmap': 'both 1000 1000\nuid 1000 5' }, /raw\.idmap.*twice/],
  ])(
    '%s is refused at once, with key, value and rule, and nothing is created or changed',
    async (_what, bad, message) => {
      const name = fresh();
      const refused = await daemon.call('POST', '/1.0/containers', { name, source: { type: 'none' }, config: bad });
      expect([refused.status, refused.metadata.message]).toEqual([400, expect.stringMatching(message)]);
      await createContainer(daemon, name);
      const before = await config(name);
      for (const method of ['PUT', 'PATCH']) {
        const body = { profiles: ['default'], config: bad };
        expect((await daemon.call(method, path(name), body)).status).toBe(400);
      }
      expect(await config(name)).toEqual(before);
      await daemon.ok('DELETE', path(name));
    },
  );

  test('a base that another container uses is refused with the name of that container', async () => {
    const [one, two] = [fresh(), fresh()];
    await createContainer(daemon, one, { config: { ...isolated, 'security.idmap.base': '5000000' } });
    const config = { ...isolated, 'security.idmap.base': '5000001' };
    const refused = await daemon.call('POST', '/1.0/containers', { name: two, source: { type: 'none' }, config });
    expect([refused.status, refused.metadata.message]).toEqual([
      400,
      expect.stringContaining(`container ${one} has 5000000`),
    ]);
    await daemon.ok('DELETE', path(one));
  });
});

/** For a host that cannot map ids at a mount. */
const shifting = (host: HostDrivers): HostDrivers => {
  Object.defineProperty(host.runtime, 'rootfsIdmapped', { value: false });
  return host;
};

test('a copy of a container whose shift on disk was cut off, or of its snapshot, records the map of that shift', async () => {
  const daemon = await makeDaemon({ adapt: shifting });
  onTestFinished(() => daemon.cleanUp());
  await seed(daemon);
  const [name, copy, restored] = [fresh(), fresh(), fresh()];
  const configOf = async (path: string): Promise<Record<string, string>> => (await daemon.get(path)).config;
  await createContainer(daemon, name, { config: isolated });
  const { runtime } = daemon.host;
  const start = runtime.start.bind(runtime);
  runtime.start = () => Promise.reject(new Error('the power fails'));
  await setState(daemon, name, 'start');
  runtime.start = start;
  const { 'volatile.idmap.current': cut } = await configOf(`/1.0/containers/${name}`);
  await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
  await createContainer(daemon, copy, { source: { type: 'copy', source: name } });
  await createContainer(daemon, restored, { source: { type: 'copy', source: `${name}/s` } });
  const mixed = { 'volatile.last_state.idmap': '[]', 'volatile.idmap.current': cut };
  for (const path of [copy, restored, `${copy}/snapshots/s`]) {
    const config = await configOf(`/1.0/containers/${path}`);
    expect(config).toMatchObject(mixed);
    expect(config['volatile.idmap.next']).not.toBe(cut);
  }
  // A start, which shifts all of its files, ends that; the snapshot still has both maps.
  expect((await setState(daemon, copy, 'start')).err).toBe('');
  const { 'volatile.idmap.current': own } = await configOf(`/1.0/containers/${copy}`);
  expect(own).not.toBe(cut);
  expect((await setState(daemon, copy, 'stop', { force: true })).err).toBe('');
  await createContainer(daemon, fresh(), { source: { type: 'copy', source: copy, container_only: true } });
  expect(await configOf(`/1.0/containers/m${process.pid}-${count}`)).not.toHaveProperty('volatile.idmap.current');
  await daemon.ok('PUT', `/1.0/containers/${copy}`, { restore: 's' });
  expect(await configOf(`/1.0/containers/${copy}`)).toMatchObject(mixed);
});

test('where a start changes owners on disk, a volume has the ids of one map at a time, and only of the shared one', async () => {
  const daemon = await makeDaemon({ adapt: shifting });
  onTestFinished(() => daemon.cleanUp());
  await seed(daemon);
  await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'v' });
  const devices = { v: { type: 'disk', pool: 'default', source: 'v', path: '/v' } };
  const [one, two, own] = [fresh(), fresh(), fresh()];
  await createContainer(daemon, one, { devices });
  await createContainer(daemon, two, { devices, config: { 'security.privileged': 'true' } });
  await createContainer(daemon, own, { devices, config: isolated });
  expect((await setState(daemon, own, 'start')).err).toMatch(/volume v .*cannot be given to .*map of its own/);
  expect((await setState(daemon, one, 'start')).err).toBe('');
  const { config } = await daemon.get(`/1.0/containers/${one}`);
  expect(config['volatile.last_state.idmap']).toBe(config['volatile.idmap.current']);
  expect((await setState(daemon, two, 'start')).err).toContain(`${one} is using it with another one`);
  await setState(daemon, one, 'stop', { force: true });
  expect((await setState(daemon, two, 'start')).err).toBe('');
});

test('a daemon killed while it assigns ids never assigns the same ones twice', async () => {
  const bundle = bundleDaemon();
  const dir = tempFolder('gtyi-');
  for (let round = 0; round < 2; round++) {
    const child = await startChild(bundle, dir, 'sim');
    if (round === 0) await seed({ call: (...args) => call(child, ...args) });
    const made = Array.from({ length: 6 }, (_, index) =>
      settle(child, 'POST', '/1.0/containers', {
        name: `k${round}-${index}`,
        source: { type: 'none' },
        config: isolated,
      }),
    );
    await Promise.race(made);
    await child.kill('SIGKILL');
    await Promise.allSettled(made);
  }
  const child = await startChild(bundle, dir, 'sim');
  onTestFinished(() => child.kill('SIGTERM'));
  const { operation } = await settle(child, 'POST', '/1.0/containers', {
    name: 'last',
    source: { type: 'none' },
    config: isolated,
  });
  expect(operation?.status).toBe('Success');
  const all = (await read(child, '/1.0/containers?recursion=1')) as {
    name: string;
    config: Record<string, string>;
  }[];
  expect(all.length).toBeGreaterThan(1);
  expectDisjoint(all.map((one) => sliceOf(one.name, one.config)));
});

describe.skipIf(missing !== undefined)('id maps of real containers', () => {
  let daemon: TestDaemon;
  let base: string;
  const rootfs = (name: string): string => join(daemon.dir, 'storage-pools/default/containers', name, 'rootfs');
  const path = (name: string): string => `/1.0/containers/${name}`;
  const make = async (name: string, more: object): Promise<void> => {
    await createContainer(daemon, name, more);
    await makeBusyboxRootfs(rootfs(name), { dhcp: false });
  };
  const start = async (name: string): Promise<void> => {
    expect((await setState(daemon, name, 'start')).err).toBe('');
  };
  const inside = async (name: string, command: string): Promise<string> => {
    const result = await execIn(daemon.host.runtime, name, ['/bin/sh', '-c', `${command} 2>&1`]);
    return result.stdout.trim();
  };
  const kernelSees = (name: string, kind: 'uid' | 'gid'): string =>
    readFileSync(`/proc/${daemon.host.runtime.probe(name).initPid}/${kind}_map`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).join(' '))
      .join('\n');
  const recorded = async (name: string, kind: 'uid' | 'gid'): Promise<string> => {
    const { config } = await daemon.get(path(name));
    return kernelMap(parseIdMap(config['volatile.idmap.current']) ?? [], kind).trim();
  };

  beforeAll(async () => {
    base = tempFolder('gtyh-');
    daemon = await makeSeeded({ runtime: 'lxc', adapt: lending(1000, 1) });
  });
  afterAll(() => daemon?.cleanUp());

  test('isolated containers started at once have disjoint maps, and files of one have no known owner in the other', async () => {
    const names = [fresh(), fresh(), fresh()];
    for (const name of names) await make(name, { config: isolated });
    await Promise.all(names.map(start));
    const firsts = await Promise.all(names.map(async (name) => (await daemon.get(path(name))).config));
    expectDisjoint(names.map((name, index) => sliceOf(name, firsts[index] ?? {})));
    for (const name of names) {
      for (const kind of ['uid', 'gid'] as const) expect(kernelSees(name, kind)).toBe(await recorded(name, kind));
      expect(await inside(name, 'stat -c %u:%g /etc/passwd')).toBe('0:0');
      expect(statSync(join(rootfs(name), 'etc/passwd')).uid).toBe(0);
    }
    const [one = '', two = ''] = names;
    const shared = join(base, 'shared');
    mkdirSync(shared, { mode: 0o777 });
    execFileSync('chmod', ['777', shared]);
    for (const name of [one, two]) {
      const devices = { shared: { type: 'disk', source: shared, path: '/shared' } };
      expect((await daemon.call('PATCH', path(name), { devices })).status).toBe(200);
    }
    await inside(one, 'touch /shared/mine; chown 7:8 /shared/mine');
    expect(await inside(one, 'stat -c %u:%g /shared/mine')).toBe('7:8');
    expect(await inside(two, 'stat -c %u:%g /shared/mine')).toBe('65534:65534');
    expect(await inside(two, 'chown 0 /shared/mine')).toMatch(/not permitted/);
    const start0 = Number(firsts[0]?.['volatile.idmap.base']);
    expect(statSync(join(shared, 'mine'))).toMatchObject({ uid: start0 + 7, gid: start0 + 8 });
    for (const name of names) expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
  });

  test('raw.idmap maps a user of the host into a container: its files on a host path belong to that user', async () => {
    const name = fresh();
    const home = join(base, 'home');
    mkdirSync(home);
    execFileSync('chown', ['1000:1000', home]);
    const devices = { home: { type: 'disk', source: home, path: '/home/user' } };
    await make(name, { config: { ...isolated, 'raw.idmap': 'both 1000 1000' }, devices });
    await start(name);
    expect(kernelSees(name, 'uid').split('\n')).toHaveLength(3);
    expect(
      await inside(name, 'stat -c %u /home/user; cp /etc/passwd /home/user/made; chown 1000:1000 /home/user/made'),
    ).toBe('1000');
    expect(statSync(join(home, 'made'))).toMatchObject({ uid: 1000, gid: 1000 });
    // Through the file API as well: the ids are those that the container sees.
    const headers = { 'x-svc-uid': '1000', 'x-svc-gid': '1000', 'x-svc-mode': '0640', 'x-svc-type': 'file' };
    const pushed = await daemon.call('POST', `${path(name)}/files?path=/home/user/pushed`, Buffer.from('x'), headers);
    expect(pushed.status).toBe(200);
    expect(statSync(join(home, 'pushed')).uid).toBe(1000);
    const pulled = await daemon.call('GET', `${path(name)}/files?path=/home/user/pushed`);
    expect(pulled.headers['x-svc-uid']).toBe('1000');
    // A file of its own root file system belongs to the same user on disk, whatever the map.
    await inside(name, 'touch /root/own; chown 1000 /root/own; touch /root/other; chown 999 /root/other');
    expect([statSync(join(rootfs(name), 'root/own')).uid, statSync(join(rootfs(name), 'root/other')).uid]).toEqual([
      1000, 999,
    ]);
    expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
  });

  test('raw.idmap may map root of the host, without an entry in any file, and leaves the rest unchanged', async () => {
    const name = fresh();
    const mine = join(base, 'of-root');
    mkdirSync(mine, { mode: 0o700 });
    const devices = { mine: { type: 'disk', source: mine, path: '/mine' } };
    await make(name, { config: { 'raw.idmap': 'both 0 0' }, devices });
    await start(name);
    const [own, rest] = kernelSees(name, 'uid')
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number));
    expect([own, rest?.[0]]).toEqual([[0, 0, 1], 1]);
    expect(await inside(name, 'touch /mine/made /root/own; chown 5 /root/own; stat -c %u /mine/made /root/own')).toBe(
      '0\n5',
    );
    expect([statSync(join(mine, 'made')).uid, statSync(join(rootfs(name), 'root/own')).uid]).toEqual([0, 5]);
    expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
  });

  test('a new map, or no map, keeps the ids that the container sees on every file', async () => {
    const name = fresh();
    await make(name, {});
    await start(name);
    await inside(name, 'touch /root/a; chown 5:6 /root/a; cp /bin/busybox /root/suid; chmod 4755 /root/suid');
    const look = (): Promise<string> => inside(name, 'stat -c %u:%g:%a /root/a /root/suid /etc/passwd');
    const before = await look();
    expect(before.split('\n')[0]).toBe('5:6:644');
    const configs = [{ 'security.privileged': 'true' }, isolated, { 'security.privileged': '', ...isolated }, {}];
    for (const config of configs) {
      await daemon.ok('PUT', path(name), { profiles: ['default'], config });
      expect((await setState(daemon, name, 'restart', { force: true })).err).toBe('');
      expect(await look(), JSON.stringify(config)).toBe(before);
      const privileged = config === configs[0];
      expect(kernelSees(name, 'uid') === '0 0 4294967295').toBe(privileged);
      const { config: now } = await daemon.get(path(name));
      expect(now['volatile.last_state.idmap']).toBe('[]');
      expect(now['volatile.idmap.current']).toBe(now['volatile.idmap.next']);
      const headers = { 'x-svc-uid': '5', 'x-svc-gid': '6', 'x-svc-type': 'file' };
      await daemon.call('POST', `${path(name)}/files?path=/root/b`, Buffer.from('x'), headers);
      expect(await inside(name, 'stat -c %u:%g /root/b')).toBe('5:6');
    }
    expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
    expect(statSync(join(rootfs(name), 'root/a')).uid).toBe(5);
  });

  test('a container whose record has no ids of its files, as from another host, starts with its files unchanged', async () => {
    const name = fresh();
    await make(name, { config: { 'security.protection.shift': 'true' } });
    execFileSync('chown', ['150000:150000', join(rootfs(name), 'etc/passwd')]);
    const runtime = daemon.host.runtime;
    const start = runtime.start.bind(runtime);
    runtime.start = (run, signal) => {
      const { fileMaps, ...rest } = run;
      expect(fileMaps).toBeDefined();
      return start(rest, signal);
    };
    try {
      expect((await setState(daemon, name, 'start')).err).toBe('');
    } finally {
      runtime.start = start;
    }
    expect(statSync(join(rootfs(name), 'etc/passwd')).uid).toBe(150_000);
    expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
  });

  test('a host path with shift has the ids on disk, at a start and when plugged in', async () => {
    const name = fresh();
    const dir = join(base, 'shifted');
    mkdirSync(dir);
    writeFileSync(join(dir, 'file'), 'x');
    execFileSync('chown', ['12:13', join(dir, 'file')]);
    const disk = (path: string) => ({ type: 'disk', source: dir, path, shift: 'true' });
    await make(name, { config: isolated, devices: { one: disk('/one') } });
    await start(name);
    expect((await daemon.call('PATCH', path(name), { devices: { two: disk('/two') } })).status).toBe(200);
    expect(await inside(name, 'stat -c %u:%g /one/file /two/file; touch /two/new')).toBe('12:13\n12:13');
    expect(statSync(join(dir, 'new'))).toMatchObject({ uid: 0, gid: 0 });
    expect(statSync(join(dir, 'file')).uid).toBe(12);
    expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
  });
});
