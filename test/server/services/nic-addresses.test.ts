// Addresses of nics over the real daemon: each belongs to one nic of a network, and to that network. Simulated host.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeContainerIn, makeProject } from '../../support/daemons/projects.ts';
import {
  createContainer,
  type Json,
  makeDaemon,
  makeSeeded,
  seed,
  setState,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';

describe('addresses of nics', () => {
  let daemon: TestDaemon;
  const network = 'gtyn0';
  beforeAll(async () => {
    daemon = await makeSeeded();
    const config = {
      'ipv4.address': '10.214.201.1/24',
      'ipv6.address': 'fd42:201::1/64',
      'ipv6.dhcp.stateful': 'true',
    };
    expect((await daemon.call('POST', '/1.0/networks', { name: network, config })).status).toBe(200);
  });
  afterAll(() => daemon.cleanUp());

  let count = 0;
  const nic = (more: object = {}): object => ({
    eth0: { type: 'nic', nictype: 'bridged', parent: network, name: 'eth0', ...more },
  });
  const made = async (more: object = {}): Promise<string> => {
    const name = `n${(count += 1)}`;
    await createContainer(daemon, name, more);
    return name;
  };
  const patch = (name: string, devices: object): ReturnType<TestDaemon['call']> =>
    daemon.call('PATCH', `/1.0/containers/${name}`, { devices });
  const refusal = async (name: string, more: object): Promise<unknown> => {
    const { status, body } = await patch(name, nic(more));
    const [first] = (body.metadata.details ?? []) as { path: string; message: string }[];
    return [status, first?.path, first?.message];
  };

  test('an interface of the host that a running container has is refused to another one, with its name', async () => {
    const physical = { eth9: { type: 'nic', nictype: 'physical', parent: 'lo', name: 'eth9' } };
    const [owner, other] = [await made({ devices: physical }), await made({ devices: physical })];
    await setState(daemon, owner, 'start');
    const refused = await daemon.run('PUT', `/1.0/containers/${other}/state`, { action: 'start', timeout: 5 });
    expect(refused.err).toContain(`cannot be lo: container ${owner} has it while it runs`);
    await setState(daemon, owner, 'stop');
    await setState(daemon, other, 'start');
    await setState(daemon, other, 'stop');
  });

  test('addresses of nics that another container has, that are outside the subnet, or the network’s own, are refused in the request', async () => {
    const owner = await made({ devices: nic({ 'ipv4.address': '10.214.201.9', 'ipv6.address': 'fd42:201::9' }) });
    const hwaddr = (await daemon.get(`/1.0/containers/${owner}`)).config['volatile.eth0.hwaddr'] as string;
    const other = await made();
    const has = expect.stringContaining(`the nic eth0 of container ${owner} on network ${network} has it`);
    for (const [property, value, message] of [
      ['ipv4.address', '10.214.201.9', has],
      ['ipv6.address', 'FD42:201:0::9', has],
      ['hwaddr', hwaddr.toUpperCase(), has],
      ['ipv4.address', '10.1.1.1', expect.stringContaining('not in the subnet')],
      ['ipv4.address', '10.214.201.1', expect.stringContaining('itself')],
      ['ipv4.address', '10.214.201.255', expect.stringContaining('no machine can have')],
    ] as const) {
      expect(await refusal(other, { [property]: value })).toEqual([400, `devices.eth0.${property}`, message]);
    }
    expect((await daemon.get(`/1.0/containers/${other}`)).devices).toEqual({});
    expect((await patch(other, nic({ 'ipv4.address': '10.214.201.10' }))).status).toBe(200);
    // Its own may stay unchanged, whatever else changes.
    expect((await patch(owner, nic({ 'ipv4.address': '10.214.201.9', 'limits.max': '1Mbit' }))).status).toBe(200);
  });

  test('a hardware address that another nic of the network has is refused when a container is made, also twice at the same moment', async () => {
    const create = async (name: string, hwaddr: string, parent = network): Promise<string> => {
      const devices = { eth0: { type: 'nic', nictype: 'bridged', parent, name: 'eth0', hwaddr } };
      const source = { type: 'none' };
      const made = daemon.run('POST', '/1.0/containers', { name, source, devices });
      // The one that is second is refused at once, or when its operation has begun.
      return made.then(({ err }) => err, String);
    };
    const hwaddr = '00:16:3e:aa:00:01';
    const owner = await made({ devices: nic({ hwaddr }) });
    const refused = await daemon.call('POST', '/1.0/containers', {
      name: 'twin',
      source: { type: 'none' },
      devices: nic({ hwaddr: hwaddr.toUpperCase() }),
    });
    const has = `devices.eth0.hwaddr: cannot be ${hwaddr}: the nic eth0 of container ${owner} on network ${network} has it`;
    expect([refused.status, refused.body.metadata.message]).toEqual([400, expect.stringContaining(has)]);
    expect(await create('elsewhere', hwaddr, 'gtyn1')).toBe('');
    const errs = await Promise.all(['pair1', 'pair2'].map((name) => create(name, '00:16:3e:aa:00:02')));
    expect(errs.toSorted((a, b) => a.length - b.length)).toEqual(['', expect.stringContaining('has it')]);
  });

  test.each([
    ['the server chose', {}],
    ['is written', { 'bridge.hwaddr': '00:16:3E:AA:00:77' }],
  ])('the hardware address of the bridge, which %s, is refused for a nic', async (_how, config) => {
    expect((await daemon.call('PATCH', `/1.0/networks/${network}`, { config })).status).toBe(200);
    const { hwaddr } = (await daemon.get(`/1.0/networks/${network}/state`)) as { hwaddr: string };
    const why = `cannot be ${hwaddr}: ${network} itself has it; choose another one, or leave hwaddr out`;
    const devices = nic({ hwaddr });
    const [name, source] = [`b${(count += 1)}`, { type: 'none' }];
    const volatile = { 'volatile.eth0.hwaddr': hwaddr };
    for (const [method, path, body] of [
      ['POST', '/1.0/containers', { name, source, devices }],
      ['POST', '/1.0/containers', { name, source, devices: nic(), config: volatile }],
      ['PATCH', `/1.0/containers/${await made()}`, { devices }],
      ['PATCH', `/1.0/containers/${await made({ devices: nic() })}`, { config: volatile }],
      ['POST', '/1.0/profiles', { name: `p${(count += 1)}`, devices }],
    ] as const) {
      const answer = await daemon.call(method, path, body);
      expect([path, answer.status, answer.body.metadata.message]).toEqual([path, 400, expect.stringContaining(why)]);
    }
  });

  test('a bridge cannot take the hardware address of a nic on it', async () => {
    const hwaddr = '00:16:3e:aa:00:03';
    const name = await made({ devices: nic({ hwaddr, parent: 'gtyn1' }) });
    expect((await daemon.call('POST', '/1.0/networks', { name: 'gtyn1' })).status).toBe(200);
    const answer = await daemon.call('PATCH', '/1.0/networks/gtyn1', { config: { 'bridge.hwaddr': hwaddr } });
    expect([answer.status, answer.body.metadata.message]).toEqual([
      400,
      expect.stringContaining(`the nic eth0 of container ${name} has it`),
    ]);
  });

  test('none with a filter reserves no address, with or without a subnet of the family', async () => {
    const filters = { 'security.ipv4_filtering': 'true', 'security.ipv6_filtering': 'true' };
    const name = await made({ devices: nic({ ...filters, 'ipv4.address': 'none', 'ipv6.address': 'none' }) });
    expect((await setState(daemon, name, 'start')).err).toBe('');
    const { config } = await daemon.get(`/1.0/containers/${name}`);
    expect(Object.keys(config).filter((key) => key.endsWith('.address'))).toEqual([]);
    const leases = (await daemon.get(`/1.0/networks/${network}/leases`)) as Json[];
    expect(leases.filter(({ type, hostname }) => hostname === name && type === 'static')).toEqual([]);
    expect((await patch(name, nic({ 'ipv4.address': 'nothing' }))).body.metadata.message).toContain(
      'must be an IPv4 address such as 10.0.0.10, without prefix length, or none',
    );
    await setState(daemon, name, 'stop', { force: true });
  });

  test('an address of a change that is refused for another reason stays free', async () => {
    const [one, other] = [await made(), await made()];
    const refused = await daemon.call('PUT', `/1.0/containers/${one}`, {
      profiles: ['default'],
      devices: nic({ 'ipv4.address': '10.214.201.66' }),
      config: { 'raw.idmap': 'both 4000000000 0' },
    });
    expect([refused.status, refused.metadata.details[0].path]).toEqual([400, 'config.raw.idmap']);
    expect((await patch(other, nic({ 'ipv4.address': '10.214.201.66' }))).status).toBe(200);
  });

  test('an address chosen for several containers concurrently is given to one of them', async () => {
    const names = [await made(), await made(), await made()];
    const wanted = nic({ 'ipv4.address': '10.214.201.77' });
    const answers = await Promise.all(names.map((name) => patch(name, wanted)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
    const [loser = ''] = names.filter((_name, index) => answers[index]?.status === 400);
    // What was refused holds nothing back.
    expect((await patch(loser, nic({ 'ipv4.address': '10.214.201.78' }))).status).toBe(200);
  });

  test('addresses of nics of a copy equal those of the original: only one of them can be up, and a stopped copy takes no lease away', async () => {
    const name = await made({ devices: nic({ 'ipv4.address': '10.214.201.20' }) });
    expect((await setState(daemon, name, 'start')).err).toBe('');
    // Sorted before the original.
    const copy = `a${name}`;
    await daemon.ok('POST', '/1.0/containers', { name: copy, source: { type: 'copy', source: name } });
    const leases = (await daemon.get(`/1.0/networks/${network}/leases`)) as Json[];
    expect(leases.filter(({ address }) => address === '10.214.201.20').map(({ hostname }) => hostname)).toEqual([name]);
    const refused = await setState(daemon, copy, 'start');
    expect([refused.status, refused.err]).toEqual([
      'Failure',
      expect.stringContaining(`of container ${name} on network`),
    ]);
    await setState(daemon, name, 'stop', { force: true });
    expect((await setState(daemon, copy, 'start')).err).toBe('');
    expect((await setState(daemon, name, 'start')).err).toContain(`of container ${copy} on network`);
    await setState(daemon, copy, 'stop', { force: true });
  });

  test('addresses of nics of a container of another project are refused like those of any other, without its name', async () => {
    const devices = nic({ 'ipv4.address': '10.214.201.25' });
    const name = await made({ devices });
    await makeProject(daemon, 'apart');
    await makeContainerIn(daemon, 'apart', name, { devices });
    const state = (action: string) =>
      daemon.run('PUT', `/1.0/containers/${name}/state?project=apart`, { action, force: true });
    expect((await setState(daemon, name, 'start')).err).toBe('');
    expect((await state('start')).err).toContain('a container of another project on network');
    await setState(daemon, name, 'stop', { force: true });
    expect((await state('start')).err).toBe('');
    expect((await setState(daemon, name, 'start')).err).toContain('a container of another project on network');
    await state('stop');
    const answer = await daemon.call('PATCH', `/1.0/containers/${await made()}`, { devices });
    expect([answer.status, answer.metadata.message]).toEqual([400, expect.stringContaining('10.214.201.25')]);
  });

  test('addresses of nics in a profile of two containers belong to the running one; the other fails with the reason', async () => {
    const profile = `fixed${(count += 1)}`;
    await daemon.call('POST', '/1.0/profiles', { name: profile, devices: nic({ 'ipv4.address': '10.214.201.30' }) });
    const profiles = ['default', profile];
    const [one, two] = [await made({ profiles }), await made({ profiles })];
    expect((await setState(daemon, one, 'start')).err).toBe('');
    expect((await setState(daemon, two, 'start')).err).toContain(`container ${one}`);
    await setState(daemon, one, 'stop', { force: true });
  });

  test('an empty property counts as absent: it is neither stored nor prevents a start', async () => {
    const name = await made({ devices: nic({ 'ipv4.address': '10.214.201.40' }) });
    await patch(name, nic({ 'ipv4.address': '', 'limits.max': '' }));
    expect((await daemon.get(`/1.0/containers/${name}`)).devices).toEqual(nic());
    expect((await setState(daemon, name, 'start')).err).toBe('');
    await setState(daemon, name, 'stop', { force: true });
  });
});

describe('server-kept keys', () => {
  test('are refused when new or unknown, as are other image keys; old copies of known ones are ignored', async () => {
    const daemon = await makeDaemon();
    onTestFinished(() => daemon.cleanUp());
    await seed(daemon);
    await createContainer(daemon, 'c');
    const patch = (config: object) => daemon.call('PATCH', '/1.0/containers/c', { config });
    for (const key of ['volatile.x', 'image.os']) {
      const answer = await patch({ [key]: 'mine' });
      expect([key, answer.status, answer.body.metadata.message]).toEqual([
        key,
        400,
        expect.stringContaining(`config.${key}`),
      ]);
    }
    expect((await patch({ 'volatile.last_state.power': 'RUNNING' })).status).toBe(200);
    const { config } = await daemon.get('/1.0/containers/c');
    expect([config['volatile.last_state.power'], config['volatile.x']]).toEqual([undefined, undefined]);
    expect((await patch(config as object)).status).toBe(200);
  });
});
