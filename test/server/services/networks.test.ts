// Networks over the real daemon: on the simulation for the rules, on real bridges for their effect on the host (spec 2.12, 4.9).
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DriverError } from '../../../server/drivers/driver-error.ts';
import {
  createContainer,
  type Json,
  leaveNothing,
  lifecycleOf,
  makeSeeded,
  realRuntimeMissing,
  setState,
  statusOf,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { uploadBusybox } from '../../support/images/busybox.ts';
import { until } from '../../support/until.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { execIn } from '../../support/drivers/exec-in.ts';

/** For networks on the real host. */
const subnet = freeSubnet();

const daemon = await seededDaemon();
const missing = await realRuntimeMissing();

let count = 0;
const fresh = (): string => `gtya${(count += 1)}`;
const create = (name: string, config: object = plain(), more: object = {}): ReturnType<TestDaemon['call']> =>
  daemon.call('POST', '/1.0/networks', { name, config, ...more });
const plain = (): Record<string, string> => ({
  'ipv4.address': `10.214.${(count += 1) % 250}.1/24`,
  'ipv6.address': 'none',
});
const get = (name: string): Promise<Json> => daemon.get(`/1.0/networks/${name}`);
const paths = (body: Json): string[] => (body.metadata.details as { path: string }[]).map((each) => each.path);
const nicOn = (parent: string, more: object = {}): object => ({
  eth0: { type: 'nic', nictype: 'bridged', parent, name: 'eth0', ...more },
});

test('a change that fails and cannot be undone answers why it failed; the log has both reasons', async () => {
  const reasons: string[] = [];
  const own = await makeSeeded({
    adapt: (host) => {
      const { network } = host;
      const up = network.up.bind(network);
      network.up = async (spec, signal) => {
        const reason = reasons.shift();
        if (reason !== undefined) throw new DriverError('Failed', reason);
        await up(spec, signal);
      };
      return host;
    },
  });
  onTestFinished(() => own.cleanUp());
  const config = plain();
  expect((await own.call('POST', '/1.0/networks', { name: 'own0', config })).status).toBe(200);
  reasons.push('the first reason', 'the second reason');
  const answer = await own.call('PATCH', '/1.0/networks/own0', { config: { 'ipv4.nat': 'true' } });
  expect([answer.status >= 400, answer.bytes.toString()]).toEqual([true, expect.stringContaining('the first reason')]);
  expect(answer.bytes.toString()).not.toContain('the second reason');
  const lines = own.logged.filter((line) => line.startsWith('error: The failed change of the network own0'));
  expect(lines).toEqual([expect.stringMatching(/the first reason.*could not be undone.*the second reason/)]);
  expect((await own.get('/1.0/networks/own0')).config).toEqual(config);
});

describe('creating a network', () => {
  test('answers 200 with its Location; GET returns the record', async () => {
    const name = fresh();
    const config = { ...plain(), 'ipv4.nat': 'true', 'user.a': 'b' };
    const answer = await create(name, config, { description: 'd', type: 'bridge' });
    expect([answer.status, answer.headers.location]).toEqual([200, `/1.0/networks/${name}`]);
    expect(await get(name)).toMatchObject({
      name,
      description: 'd',
      type: 'bridge',
      managed: true,
      status: 'Created',
      locations: ['none'],
      used_by: [],
      config,
    });
  });

  test('creating a network with auto addresses stores the chosen ones, each only once', async () => {
    const names = Array.from({ length: 5 }, fresh);
    for (const name of names) expect((await create(name, {})).status).toBe(200);
    const configs = await Promise.all(names.map(async (name) => (await get(name)).config as Record<string, string>));
    for (const config of configs) {
      expect(config['ipv4.address']).toMatch(/^10\.\d+\.\d+\.1\/24$/);
      expect(config['ipv4.nat']).toBe('true');
    }
    expect(new Set(configs.map((config) => config['ipv4.address'])).size).toBe(5);
    // Their subnets are random ones: others of this file could overlap them.
    for (const name of names) expect((await daemon.call('DELETE', `/1.0/networks/${name}`)).status).toBeLessThan(300);
  });

  test.each([['a'], ['x'.repeat(16)], ['veth0'], ['a/b'], ['a b'], ['-x'], ['..'], ['']])(
    'with the name %j answers 400',
    async (name) => {
      const answer = await create(name);
      expect([answer.status, paths(answer.body)]).toEqual([400, ['name']]);
    },
  );

  test.each([
    [{ 'ipv4.adress': '10.214.1.1/24' }, ['config.ipv4.adress']],
    [{ 'ipv4.address': '10.214.1.300/24' }, ['config.ipv4.address']],
    [{ 'ipv4.address': '10.214.1.0/24' }, ['config.ipv4.address']],
    [{ 'bridge.mtu': '9' }, ['config.bridge.mtu']],
    [{ 'dns.mode': 'magic' }, ['config.dns.mode']],
    [{ 'ipv4.dhcp.gateway': 'x' }, ['config.ipv4.dhcp.gateway']],
  ])('with %j names the wrong place', async (config, wrong) => {
    const answer = await create('gtyabad', { 'ipv6.address': 'none', ...config });
    expect([answer.status, paths(answer.body)]).toEqual([400, wrong]);
    expect((await daemon.call('GET', '/1.0/networks/gtyabad')).status).toBe(404);
  });

  test('creating a network of another type than bridge, or over an interface of the host, answers 400; over a taken name 409', async () => {
    expect((await create('gtyamac', {}, { type: 'macvlan' })).status).toBe(400);
    expect((await create('eth0')).status).toBe(400);
    const name = fresh();
    await create(name);
    expect((await create(name)).status).toBe(409);
  });

  test('creating a network with an address or a subnet of an interface of the host answers 400 and names the interface', async () => {
    for (const address of ['192.0.2.10/24', '192.0.2.10/16', '192.0.2.1/24']) {
      const config = { 'ipv4.address': address, 'ipv6.address': 'none' };
      const answer = await daemon.call('POST', '/1.0/networks', { name: 'own0', config });
      const text = answer.bytes.toString();
      expect([answer.status, text]).toEqual([400, expect.stringContaining('the interface eth0 of this host')]);
      expect(text).toContain(address);
      expect((await daemon.call('GET', '/1.0/networks/own0')).status).toBe(404);
    }
    const free = { 'ipv4.address': '10.214.202.1/24', 'ipv6.address': 'none' };
    expect((await daemon.call('POST', '/1.0/networks', { name: 'own0', config: free })).status).toBe(200);
    const other = await daemon.call('POST', '/1.0/networks', { name: 'own1', config: free });
    expect([other.status, other.bytes.toString()]).toEqual([400, expect.stringContaining('the network own0')]);
    const taken = await daemon.call('PATCH', '/1.0/networks/own0', { config: { 'ipv4.address': '192.0.2.1/24' } });
    expect(taken.status).toBe(400);
    expect((await daemon.get('/1.0/networks/own0')).config['ipv4.address']).toBe('10.214.202.1/24');
    const described = await daemon.call('PATCH', '/1.0/networks/own0', { description: 'mine' });
    expect(described.status).toBeLessThan(300);
    expect((await daemon.call('DELETE', '/1.0/networks/own0')).status).toBeLessThan(300);
  });

  test('a network whose subnet contains another one, or is contained in it, is refused with 400 and both names', async () => {
    const config = (address: string): object => ({ 'ipv4.address': address, 'ipv6.address': 'none' });
    const wide = fresh();
    expect((await create(wide, config('10.216.0.1/16'))).status).toBe(200);
    for (const address of ['10.216.7.1/24', '10.216.0.1/16', '10.217.0.1/15', '192.0.2.129/25']) {
      const answer = await create('gtyasub', config(address));
      expect([answer.status, paths(answer.body)], address).toEqual([400, ['config.ipv4.address']]);
      expect(answer.bytes.toString()).toContain(address === '192.0.2.129/25' ? 'interface eth0' : `network ${wide}`);
    }
    const six = fresh();
    expect((await create(six, { 'ipv4.address': 'none', 'ipv6.address': 'fd42:9:9::1/64' })).status).toBe(200);
    const inside = await create('gtyasub', { 'ipv4.address': 'none', 'ipv6.address': 'fd42:9:9::1:0:0:1/80' });
    expect([inside.status, paths(inside.body)]).toEqual([400, ['config.ipv6.address']]);
    for (const name of [wide, six]) await daemon.call('DELETE', `/1.0/networks/${name}`);
  });

  test('parallel requests for one subnet give it to one network only, made or changed', async () => {
    const config = { 'ipv4.address': '10.213.0.1/24', 'ipv6.address': 'none' };
    const names = Array.from({ length: 4 }, fresh);
    const answers = await Promise.all(names.map((name) => create(name, config)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400]);
    const changed = Array.from({ length: 3 }, fresh);
    for (const name of changed) await create(name, { 'ipv4.address': 'none', 'ipv6.address': 'none' });
    const wanted = { config: { 'ipv4.address': '10.213.1.1/24' } };
    const puts = await Promise.all(changed.map((name) => daemon.call('PATCH', `/1.0/networks/${name}`, wanted)));
    expect(puts.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
    for (const name of [...names, ...changed]) await daemon.call('DELETE', `/1.0/networks/${name}`);
    const last = fresh();
    expect((await create(last, config)).status).toBe(200);
    await daemon.call('DELETE', `/1.0/networks/${last}`);
  });

  test('creating a network that cannot come up answers 500 or 400, without a record', async () => {
    const undo = daemon.simNetwork.faults.inject({ operation: 'up', network: 'gtyaf', error: 'no kernel', times: 1 });
    const answer = await create('gtyaf');
    undo();
    expect(answer.status).toBe(500);
    expect(answer.body.metadata.message).toMatch(/no kernel/);
    expect((await daemon.call('GET', '/1.0/networks/gtyaf')).status).toBe(404);
    expect((await create('gtyaf')).status).toBe(200);
  });
});

describe('changing a network', () => {
  test('PUT replaces, PATCH merges, old ETags answer 412', async () => {
    const name = fresh();
    const config = plain();
    await create(name, { ...config, 'user.a': '1' }, { description: 'd' });
    const path = `/1.0/networks/${name}`;
    const etag = String((await daemon.call('GET', path)).headers.etag);
    expect(
      (await daemon.call('PATCH', path, { config: { 'user.b': '2', 'user.a': '' } }, { 'if-match': etag })).status,
    ).toBe(200);
    expect(await get(name)).toMatchObject({ description: 'd', config: { ...config, 'user.b': '2' } });
    expect((await get(name)).config['user.a']).toBeUndefined();
    expect((await daemon.call('PUT', path, { config }, { 'if-match': etag })).status).toBe(412);
    expect((await daemon.call('PUT', path, { config })).status).toBe(200);
    expect(await get(name)).toMatchObject({ description: '', config });
    expect((await get(name)).config['user.b']).toBeUndefined();
  });

  test('changing a network that is unmanaged or missing answers 404', async () => {
    for (const name of ['eth0', 'nobody']) {
      for (const [method, body] of [
        ['PUT', {}],
        ['PATCH', {}],
        ['DELETE', undefined],
        ['POST', { name: 'gtyax' }],
      ] as const) {
        expect([name, method, (await daemon.call(method, `/1.0/networks/${name}`, body)).status]).toEqual([
          name,
          method,
          404,
        ]);
      }
    }
  });

  test('changing a network that the host refuses leaves record and host unchanged', async () => {
    const name = fresh();
    const config = plain();
    await create(name, config);
    daemon.simNetwork.faults.inject({ operation: 'up', network: name, error: 'not today', times: 1 });
    const answer = await daemon.call('PATCH', `/1.0/networks/${name}`, { config: { 'ipv4.nat': 'true' } });
    expect(answer.status).toBe(500);
    expect((await get(name)).config).toEqual(config);
    expect((await daemon.get(`/1.0/networks/${name}/state`)).state).toBe('up');
  });
});

describe('a network in use', () => {
  test('lists its users, is neither deleted nor renamed, and its leases have fixed and dynamic addresses', async () => {
    const [name, config] = [fresh(), plain()];
    await create(name, config);
    const base = config['ipv4.address']!.replace('.1/24', '');
    await createContainer(daemon, `f-${name}`, { devices: nicOn(name, { 'ipv4.address': `${base}.9` }) });
    await createContainer(daemon, `d-${name}`, { devices: nicOn(name) });
    await daemon.call('POST', '/1.0/profiles', { name: `p-${name}`, devices: nicOn(name) });
    expect((await get(name)).used_by).toEqual([
      `/1.0/containers/d-${name}`,
      `/1.0/containers/f-${name}`,
      `/1.0/profiles/p-${name}`,
    ]);
    for (const [method, body] of [
      ['DELETE', undefined],
      ['POST', { name: fresh() }],
    ] as const) {
      const answer = await daemon.call(method, `/1.0/networks/${name}`, body);
      expect([answer.status, answer.body.metadata.code]).toEqual([400, 'inUse']);
    }
    await setState(daemon, `d-${name}`, 'start');
    await daemon.get(`/1.0/containers/d-${name}/state`);
    const leases = (await daemon.get(`/1.0/networks/${name}/leases`)) as Json[];
    expect(leases).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ hostname: `f-${name}`, address: `${base}.9`, type: 'static', location: 'none' }),
        expect.objectContaining({ hostname: `d-${name}`, type: 'dynamic', location: 'none' }),
      ]),
    );
    await setState(daemon, `d-${name}`, 'stop', { force: true });
    for (const each of ['f', 'd']) await daemon.ok('DELETE', `/1.0/containers/${each}-${name}`);
    const gateway = { hostname: `${name}.gw`, hwaddr: '', address: `${base}.1`, type: 'gateway', location: '' };
    expect(await daemon.get(`/1.0/networks/${name}/leases`)).toEqual([gateway]);
    await daemon.call('DELETE', `/1.0/profiles/p-${name}`);
    const deleted = await daemon.call('DELETE', `/1.0/networks/${name}`);
    expect([deleted.status, deleted.body.type]).toEqual([202, 'sync']);
    expect((await daemon.call('DELETE', `/1.0/networks/${name}`)).status).toBe(404);
  });

  test('deleted while a container is attached to it: one of the two is refused', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = fresh();
      await create(name);
      const [deleted, created] = await Promise.all([
        daemon.call('DELETE', `/1.0/networks/${name}`),
        daemon.call('POST', '/1.0/containers', { name: `r-${name}`, source: { type: 'none' }, devices: nicOn(name) }),
      ]);
      const made = created.status === 202 && (await daemon.wait(created.body.operation as string)).status === 'Success';
      const gone = deleted.status < 300;
      // A container may name an interface that this daemon does not manage: then both succeed, one after the other.
      if (!gone) expect(made).toBe(true);
      const listed = (await daemon.call('GET', `/1.0/networks/${name}`)).status;
      expect(listed).toBe(gone ? 404 : 200);
    }
  });
});

describe('renaming a network', () => {
  test('answers 204 without body and with the new Location', async () => {
    const [from, to] = [fresh(), fresh()];
    const config = plain();
    await create(from, config);
    const listening = await daemon.listen('lifecycle');
    const answer = await daemon.call('POST', `/1.0/networks/${from}`, { name: to });
    expect([answer.status, answer.headers.location, answer.bytes.length]).toEqual([204, `/1.0/networks/${to}`, 0]);
    expect((await daemon.call('GET', `/1.0/networks/${from}`)).status).toBe(404);
    expect((await get(to)).config).toEqual(config);
    expect((await daemon.get(`/1.0/networks/${to}/state`)).state).toBe('up');
    await listening.next((event) => lifecycleOf(event).action === 'network-renamed');
    listening.close();
  });

  test('to a name that is too long for the interfaces of its tunnels answers 400', async () => {
    const name = fresh();
    await create(name, { ...plain(), 'tunnel.abc.protocol': 'vxlan' });
    const answer = await daemon.call('POST', `/1.0/networks/${name}`, { name: 'twelve-chars' });
    expect([answer.status, answer.metadata.message]).toEqual([400, expect.stringContaining('at most 14 characters')]);
    expect((await daemon.get(`/1.0/networks/${name}/state`)).state).toBe('up');
  });

  test('onto a taken name answers 409, also onto its own; to a bad one or an interface of the host 400', async () => {
    const [one, two] = [fresh(), fresh()];
    await create(one);
    await create(two);
    for (const [to, status] of [
      [two, 409],
      [one, 409],
      ['a/b', 400],
      ['eth0', 400],
    ] as const) {
      expect([to, (await daemon.call('POST', `/1.0/networks/${one}`, { name: to })).status]).toEqual([to, status]);
    }
    expect((await daemon.get(`/1.0/networks/${one}/state`)).state).toBe('up');
  });
});

describe('interfaces of the host', () => {
  test('are listed with the managed ones, with their state, without leases', async () => {
    const list = (await daemon.get('/1.0/networks?recursion=1')) as Json[];
    expect(list.find((each) => each.name === 'lo')).toMatchObject({
      managed: false,
      type: 'loopback',
      config: {},
      status: '',
    });
    expect(list.map((each) => each.name)).toEqual(list.map((each) => each.name as string).toSorted());
    expect(await daemon.get('/1.0/networks/eth0/state')).toMatchObject({ state: 'up', type: 'broadcast' });
    expect((await daemon.call('GET', '/1.0/networks/eth0/leases')).status).toBe(404);
    expect((await daemon.call('GET', '/1.0/networks/nobody/state')).status).toBe(404);
  });
});

describe.skipIf(missing !== undefined)('on real bridges, with real containers', () => {
  let real: TestDaemon;
  const bridge = `gtyar${process.pid % 1000}`;
  const call: TestDaemon['call'] = (...args) => real.call(...args);
  const source = { type: 'image', alias: 'busybox' };

  beforeAll(async () => {
    real = await makeSeeded({ runtime: 'lxc' });
    await uploadBusybox(real);
  });
  afterAll(async () => {
    await leaveNothing(real);
    expect(execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' })).not.toContain(bridge);
  });

  test('a container gets its fixed address and another one by DHCP; state, leases and host agree; everything is removed again', async () => {
    const created = await call('POST', '/1.0/networks', {
      name: bridge,
      config: { 'ipv4.address': `${subnet}.1/24`, 'ipv6.address': 'none', 'ipv4.nat': 'false' },
    });
    expect([created.status, created.bytes.toString()]).toEqual([200, expect.anything()]);
    expect(existsSync(`/sys/class/net/${bridge}/bridge`)).toBe(true);
    const unmanaged = (await real.get('/1.0/networks?recursion=1')) as Json[];
    expect(unmanaged.find((each) => each.name === 'lo')).toMatchObject({ managed: false });

    await createContainer(real, 'fixed', { source, devices: nicOn(bridge, { 'ipv4.address': `${subnet}.20` }) });
    await createContainer(real, 'given', { source, devices: nicOn(bridge), ephemeral: true });
    for (const name of ['fixed', 'given']) expect((await setState(real, name, 'start')).err).toBe('');
    const addressOf = async (name: string): Promise<string | undefined> => {
      const state = await real.get(`/1.0/containers/${name}/state`);
      return (state.network.eth0?.addresses as Json[] | undefined)?.find((each) => each.family === 'inet')?.address as
        | string
        | undefined;
    };
    await until(
      async () => (await addressOf('fixed')) === `${subnet}.20` && (await addressOf('given')) !== undefined,
      60_000,
    );
    const given = await addressOf('given');
    const leases = (await real.get(`/1.0/networks/${bridge}/leases`)) as Json[];
    expect(leases.map((each) => [each.hostname, each.address, each.type])).toEqual(
      expect.arrayContaining([
        ['fixed', `${subnet}.20`, 'static'],
        ['given', given, 'dynamic'],
      ]),
    );
    const state = await real.get('/1.0/containers/fixed/state');
    expect(existsSync(`/sys/class/net/${state.network.eth0.host_name}`)).toBe(true);
    expect(state.network.eth0.hwaddr).toBe(
      readFileSync(`/proc/${state.pid}/root/sys/class/net/eth0/address`, 'utf8').trim(),
    );
    expect(state.memory.usage).toBeGreaterThan(0);
    expect((await call('DELETE', `/1.0/networks/${bridge}`)).status).toBe(400);

    // Frozen and thawed, limits live, restart by a clean shutdown.
    expect((await setState(real, 'fixed', 'freeze')).err).toBe('');
    expect(await statusOf(real, 'fixed')).toBe('Frozen');
    expect((await setState(real, 'fixed', 'stop', { timeout: 10 })).err).toBe('');
    expect((await setState(real, 'fixed', 'start')).err).toBe('');
    expect((await setState(real, 'fixed', 'restart', { timeout: 10 })).err).toBe('');
    expect((await call('PATCH', '/1.0/containers/fixed', { config: { 'limits.memory': '64MB' } })).status).toBe(200);

    // A container that powers itself off is noticed; being ephemeral, it is deleted with its lease.
    await execIn(real.host.runtime, 'given', ['/bin/busybox', 'poweroff', '-f']).catch(() => {});
    await until(async () => (await call('GET', '/1.0/containers/given')).status === 404);
    const leaseHolders = async (): Promise<unknown[]> =>
      ((await real.get(`/1.0/networks/${bridge}/leases`)) as Json[]).map((each) => each.hostname);
    // The record is deleted first, the lease is released right after it.
    await until(async () => isDeepStrictEqual(await leaseHolders(), [`${bridge}.gw`, 'fixed']));

    expect((await setState(real, 'fixed', 'stop', { force: true })).err).toBe('');
    expect(existsSync(`/sys/class/net/${state.network.eth0.host_name}`)).toBe(false);
    await real.ok('DELETE', '/1.0/containers/fixed');
    expect((await call('DELETE', `/1.0/networks/${bridge}`)).status).toBe(202);
    expect(existsSync(`/sys/class/net/${bridge}`)).toBe(false);
    expect(execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' })).not.toContain(bridge);
  });

  test('a network over an interface of the host is refused, and the interface stays', async () => {
    const foreign = `gtyaq${process.pid % 1000}`;
    execFileSync('ip', ['link', 'add', foreign, 'type', 'bridge']);
    onTestFinished(() => void execFileSync('ip', ['link', 'del', foreign]));
    const answer = await call('POST', '/1.0/networks', {
      name: foreign,
      config: { 'ipv4.address': `${freeSubnet()}.1/24` },
    });
    expect(answer.status).toBe(400);
    expect(existsSync(`/sys/class/net/${foreign}`)).toBe(true);
    expect(await real.get(`/1.0/networks/${foreign}`)).toMatchObject({ managed: false, type: 'bridge' });
  });

  test('a renamed network is the new bridge and no longer the old one', async () => {
    const [from, to] = [`gtyas${process.pid % 1000}`, `gtyat${process.pid % 1000}`];
    expect(
      (
        await call('POST', '/1.0/networks', {
          name: from,
          config: { 'ipv4.address': `${freeSubnet()}.1/24`, 'ipv6.address': 'none' },
        })
      ).status,
    ).toBe(200);
    expect((await call('POST', `/1.0/networks/${from}`, { name: to })).status).toBe(204);
    expect([existsSync(`/sys/class/net/${from}`), existsSync(`/sys/class/net/${to}`)]).toEqual([false, true]);
    expect((await call('DELETE', `/1.0/networks/${to}`)).status).toBe(202);
  });
});
