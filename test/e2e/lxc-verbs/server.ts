// Proofs of verbs on profiles, networks, projects, operations, trust, and of those that the client carries out alone.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { makeClient } from '../../support/daemons/tls.ts';
import { edited, file, isGone, listed, made, name, running, type Proof, type World } from './world.ts';

export const serverProofs: Readonly<Record<string, Proof>> = {
  version: async ({ lxc }) =>
    expect(await lxc('version')).toMatch(/^Client version: 5\.0\.2\nServer version: \d+\.\d+/),
  help: async ({ lxc }) => expect(await lxc('help', 'list')).toMatch(/List instances/),
  manpage: async ({ lxc, work }) => {
    const dir = file({ work }, name());
    mkdirSync(dir);
    await lxc('manpage', dir);
    expect(readdirSync(dir)).toContain('lxc.launch.1');
  },
  'alias add': async (world) => expect(await world.lxc(await alias(world), '-f', 'csv')).toMatch(/,CONTAINER,|^$/),
  'alias list': async (world) => {
    const made = await alias(world);
    expect(await world.lxc('alias', 'list', '-f', 'csv')).toContain(`${made},list`);
  },
  'alias rename': async (world) => {
    const made = await alias(world);
    await world.lxc('alias', 'rename', made, `${made}x`);
    expect(await world.lxc('alias', 'list', '-f', 'csv')).toContain(`${made}x,list`);
  },
  'alias remove': async (world) => {
    const made = await alias(world);
    await world.lxc('alias', 'remove', made);
    expect(await world.lxc('alias', 'list', '-f', 'csv')).not.toContain(made);
  },
  'remote add': async (world) => {
    const { lxc, https } = world;
    const remote = await added(world);
    expect(await lxc('config', 'get', `${remote}:`, 'core.https_address')).toBe(`${https}\n`);
    const wrong = await lxc.run(['remote', 'add', `${remote}x`, '127.0.0.1:1']);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/refused|Unavailable/)]);
  },
  'remote list': async (world) => {
    const remote = await added(world);
    expect(await world.lxc('remote', 'list', '-f', 'csv')).toMatch(
      new RegExp(`${remote},https://${world.https},lxd,tls`),
    );
  },
  'remote rename': async (world) => {
    const remote = await added(world);
    await world.lxc('remote', 'rename', remote, `${remote}x`);
    expect(await world.lxc('config', 'get', `${remote}x:`, 'core.https_address')).toBe(`${world.https}\n`);
  },
  'remote set-url': async (world) => {
    const remote = await added(world);
    const url = `https://localhost:${world.https.split(':')[1] ?? ''}`;
    await world.lxc('remote', 'set-url', remote, url);
    expect(await world.lxc('remote', 'list', '-f', 'csv')).toContain(`${remote},${url},`);
  },
  'remote remove': async (world) => {
    const remote = await added(world);
    await world.lxc('remote', 'remove', remote);
    expect(await world.lxc('remote', 'list', '-f', 'csv')).not.toContain(`${remote},`);
  },
  'remote switch': async ({ lxc }) => {
    const before = (await lxc('remote', 'get-default')).trim();
    const other = before === 'a' ? 'local' : 'a';
    await lxc('remote', 'switch', other);
    expect(await lxc('remote', 'get-default')).toBe(`${other}\n`);
    await lxc('remote', 'switch', before);
  },
  'remote get-default': async ({ lxc }) => expect(['a\n', 'local\n']).toContain(await lxc('remote', 'get-default')),
  'config trust add': async (world) => {
    const fingerprint = await trusted(world);
    expect((await world.daemon.get(`/1.0/certificates/${fingerprint}`)).type).toBe('client');
    expect(await world.lxc('config', 'trust', 'add', '--name', name())).toMatch(/^[A-Za-z0-9+/=]{100,}$/m);
    const metrics = await trusted(world, '--type=metrics');
    expect((await world.daemon.get(`/1.0/certificates/${metrics}`)).type).toBe('metrics');
  },
  'config trust list': async (world) => listed(world, (await trusted(world)).slice(0, 12), 'config', 'trust', 'list'),
  'config trust show': async (world) =>
    expect(await world.lxc('config', 'trust', 'show', await trusted(world))).toMatch(/BEGIN CERTIFICATE/),
  'config trust edit': async (world) => {
    const fingerprint = await trusted(world);
    const words = (last: string): string[] => ['config', 'trust', last, fingerprint];
    await edited(world, words('show'), words('edit'), (text) => text.replace(/^name: .*$/m, 'name: edited'));
    expect((await world.daemon.get(`/1.0/certificates/${fingerprint}`)).name).toBe('edited');
  },
  'config trust remove': async (world) => {
    const fingerprint = await trusted(world);
    await world.lxc('config', 'trust', 'remove', fingerprint.slice(0, 20));
    await isGone(world, `/1.0/certificates/${fingerprint}`);
  },
  'config trust list-tokens': async (world) => {
    const client = name();
    await world.lxc('config', 'trust', 'add', '--name', client);
    expect(await world.lxc('config', 'trust', 'list-tokens', '-f', 'csv')).toContain(`${client},`);
  },
  'config trust revoke-token': async (world) => {
    const client = name();
    await world.lxc('config', 'trust', 'add', '--name', client);
    await world.lxc('config', 'trust', 'revoke-token', client);
    expect(await world.lxc('config', 'trust', 'list-tokens', '-f', 'csv')).not.toContain(`${client},`);
  },
  'operation list': async (world) => listed(world, await secret(world), 'operation', 'list'),
  'operation show': async (world) =>
    expect(await world.lxc('operation', 'show', await secret(world))).toMatch(/class: token/),
  'operation delete': async (world) => {
    const id = await secret(world);
    await world.lxc('operation', 'delete', id);
    expect((await world.daemon.call('GET', `/1.0/operations/${id}`)).metadata?.status ?? 'Cancelled').toBe('Cancelled');
  },
  'profile create': async (world) => expect((await profile(world)).object.name).toMatch(/^n/),
  'profile list': async (world) => listed(world, `${(await profile(world)).name},`, 'profile', 'list'),
  'profile show': async (world) =>
    expect(await world.lxc('profile', 'show', (await profile(world)).name)).toMatch(/user\.a: "1"/),
  'profile get': async (world) =>
    expect(await world.lxc('profile', 'get', (await profile(world)).name, 'user.a')).toBe('1\n'),
  'profile set': async (world) => {
    const made = await profile(world);
    await world.lxc('profile', 'set', made.name, 'user.b=2');
    expect((await made.read()).config).toEqual({ 'user.a': '1', 'user.b': '2' });
  },
  'profile unset': async (world) => {
    const made = await profile(world);
    await world.lxc('profile', 'unset', made.name, 'user.a');
    expect((await made.read()).config).toEqual({});
  },
  'profile edit': async (world) => {
    const made = await profile(world);
    const words = (last: string): string[] => ['profile', last, made.name];
    await edited(world, words('show'), words('edit'), (text) => text.replace('description: ""', 'description: new'));
    expect((await made.read()).description).toBe('new');
  },
  'profile copy': async (world) => {
    const made = await profile(world);
    await world.lxc('profile', 'copy', made.name, `${made.name}x`);
    await world.lxc('profile', 'copy', made.name, `b:${made.name}`);
    expect((await world.daemon.get(`/1.0/profiles/${made.name}x`)).config).toEqual({ 'user.a': '1' });
    expect((await world.other.get(`/1.0/profiles/${made.name}`)).config).toEqual({ 'user.a': '1' });
  },
  'profile rename': async (world) => {
    const made = await profile(world);
    await world.lxc('profile', 'rename', made.name, `${made.name}x`);
    expect((await world.daemon.get(`/1.0/profiles/${made.name}x`)).config).toEqual({ 'user.a': '1' });
  },
  'profile delete': async (world) => {
    const made = await profile(world);
    await world.lxc('profile', 'delete', made.name);
    await isGone(world, `/1.0/profiles/${made.name}`);
  },
  'profile add': async (world) => {
    const [c, { name: added }] = [await made(world), await profile(world)];
    await world.lxc('profile', 'add', c, added);
    expect((await world.daemon.get(`/1.0/containers/${c}`)).profiles).toEqual(['default', added]);
  },
  'profile remove': async (world) => {
    const [c, { name: added }] = [await made(world), await profile(world)];
    await world.lxc('profile', 'add', c, added);
    await world.lxc('profile', 'remove', c, added);
    expect((await world.daemon.get(`/1.0/containers/${c}`)).profiles).toEqual(['default']);
  },
  'profile assign': async (world) => {
    const [c, { name: added }] = [await made(world), await profile(world)];
    await world.lxc('profile', 'assign', c, `${added},default`);
    expect((await world.daemon.get(`/1.0/containers/${c}`)).profiles).toEqual([added, 'default']);
  },
  'profile device add': async (world) => expect((await (await profileDevice(world)).read()).devices.d.path).toBe('/d'),
  'profile device list': async (world) =>
    expect(await world.lxc('profile', 'device', 'list', (await profileDevice(world)).name)).toBe('d\n'),
  'profile device show': async (world) =>
    expect(await world.lxc('profile', 'device', 'show', (await profileDevice(world)).name)).toMatch(/path: \/d/),
  'profile device get': async (world) =>
    expect(await world.lxc('profile', 'device', 'get', (await profileDevice(world)).name, 'd', 'path')).toBe('/d\n'),
  'profile device set': async (world) => {
    const made = await profileDevice(world);
    await world.lxc('profile', 'device', 'set', made.name, 'd', 'path=/e', 'readonly=true');
    expect((await made.read()).devices.d).toMatchObject({ path: '/e', readonly: 'true' });
  },
  'profile device unset': async (world) => {
    const made = await profileDevice(world);
    await world.lxc('profile', 'device', 'set', made.name, 'd', 'readonly=true');
    await world.lxc('profile', 'device', 'unset', made.name, 'd', 'readonly');
    expect((await made.read()).devices.d).not.toHaveProperty('readonly');
  },
  'profile device remove': async (world) => {
    const made = await profileDevice(world);
    await world.lxc('profile', 'device', 'remove', made.name, 'd');
    expect((await made.read()).devices).toEqual({});
  },
  'network create': async (world) =>
    expect((await network(world)).object.config['ipv4.address']).toMatch(/^10\.99\.\d+\.1\/24$/),
  'network list': async (world) => listed(world, `${(await network(world)).name},bridge,YES`, 'network', 'list'),
  'network show': async (world) =>
    expect(await world.lxc('network', 'show', (await network(world)).name)).toMatch(/managed: true/),
  'network get': async (world) =>
    expect(await world.lxc('network', 'get', (await network(world)).name, 'ipv6.address')).toBe('none\n'),
  'network info': async (world) =>
    expect(await world.lxc('network', 'info', (await network(world)).name)).toMatch(/State: up/),
  'network set': async (world) => {
    const made = await network(world);
    await world.lxc('network', 'set', made.name, 'ipv4.nat=true');
    expect((await made.read()).config['ipv4.nat']).toBe('true');
  },
  'network unset': async (world) => {
    const made = await network(world);
    await world.lxc('network', 'set', made.name, 'user.a=1');
    await world.lxc('network', 'unset', made.name, 'user.a');
    expect((await made.read()).config).not.toHaveProperty(['user.a']);
  },
  'network edit': async (world) => {
    const made = await network(world);
    const words = (last: string): string[] => ['network', last, made.name];
    await edited(world, words('show'), words('edit'), (text) => text.replace('description: ""', 'description: new'));
    expect((await made.read()).description).toBe('new');
  },
  'network rename': async (world) => {
    const made = await network(world);
    await world.lxc('network', 'rename', made.name, `${made.name}x`);
    expect((await world.daemon.get(`/1.0/networks/${made.name}x`)).managed).toBe(true);
  },
  'network delete': async (world) => {
    const made = await network(world);
    await world.lxc('network', 'delete', made.name);
    await isGone(world, `/1.0/networks/${made.name}`);
  },
  'network attach': async (world) => {
    const [c, { name: parent }] = [await made(world), await network(world)];
    await world.lxc('network', 'attach', parent, c, 'card', 'eth7');
    expect((await world.daemon.get(`/1.0/containers/${c}`)).devices.card).toMatchObject({ type: 'nic', name: 'eth7' });
  },
  'network detach': async (world) => {
    const [c, { name: parent }] = [await made(world), await network(world)];
    await world.lxc('network', 'attach', parent, c);
    await world.lxc('network', 'detach', parent, c);
    expect((await world.daemon.get(`/1.0/containers/${c}`)).devices).toEqual({});
  },
  'network attach-profile': async (world) => {
    const [made, { name: parent }] = [await profile(world), await network(world)];
    await world.lxc('network', 'attach-profile', parent, made.name, 'card');
    expect((await made.read()).devices.card.type).toBe('nic');
  },
  'network detach-profile': async (world) => {
    const [made, { name: parent }] = [await profile(world), await network(world)];
    await world.lxc('network', 'attach-profile', parent, made.name, 'card');
    await world.lxc('network', 'detach-profile', parent, made.name, 'card');
    expect((await made.read()).devices).toEqual({});
  },
  'network list-leases': async (world) => {
    const [c, { name: parent, subnet }] = [await made(world), await network(world)];
    await world.lxc(
      'config',
      'device',
      'add',
      c,
      'eth0',
      'nic',
      'nictype=bridged',
      `parent=${parent}`,
      `ipv4.address=${subnet}.7`,
    );
    expect(await world.lxc('network', 'list-leases', parent, '-f', 'csv')).toMatch(
      new RegExp(`^${c},00:16:3e:.*,${subnet}.7,STATIC`),
    );
  },
  'warning list': async (world) => {
    const { uuid } = await warned(world);
    await listed(world, `${uuid},Scheduled snapshot failed,NEW,MODERATE,1,default,`, 'warning', 'list');
  },
  'warning show': async (world) => {
    const { uuid, container } = await warned(world);
    const shown = await world.lxc('warning', 'show', uuid);
    expect(shown).toContain('last_message: a bad block');
    expect(shown).toContain(`entity_url: /1.0/containers/${container}`);
  },
  'warning acknowledge': async (world) => {
    const { uuid } = await warned(world);
    await world.lxc('warning', 'acknowledge', uuid);
    expect(await world.lxc('warning', 'list', '-f', 'csv')).not.toContain(uuid);
    await listed(world, `${uuid},Scheduled snapshot failed,ACKNOWLEDGED,`, 'warning', 'list', '--all');
  },
  'warning delete': async (world) => {
    const { uuid } = await warned(world);
    await world.lxc('warning', 'delete', uuid);
    await isGone(world, `/1.0/warnings/${uuid}`);
  },
  'project create': async (world) => expect((await project(world)).object.config['features.images']).toBe('false'),
  'project list': async (world) => listed(world, `${(await project(world)).name},NO`, 'project', 'list'),
  'project show': async (world) =>
    expect(await world.lxc('project', 'show', (await project(world)).name)).toMatch(/features\.images: "false"/),
  'project get': async (world) =>
    expect(await world.lxc('project', 'get', (await project(world)).name, 'features.images')).toBe('false\n'),
  'project info': async (world) =>
    expect(await world.lxc('project', 'info', (await project(world)).name)).toMatch(/CONTAINERS/),
  'project set': async (world) => {
    const made = await project(world);
    await world.lxc('project', 'set', made.name, 'user.a=1');
    expect((await made.read()).config['user.a']).toBe('1');
  },
  'project unset': async (world) => {
    const made = await project(world);
    await world.lxc('project', 'set', made.name, 'user.a=1');
    await world.lxc('project', 'unset', made.name, 'user.a');
    expect((await made.read()).config).not.toHaveProperty(['user.a']);
  },
  'project edit': async (world) => {
    const made = await project(world);
    const words = (last: string): string[] => ['project', last, made.name];
    await edited(world, words('show'), words('edit'), (text) => text.replace('description: ""', 'description: new'));
    expect((await made.read()).description).toBe('new');
  },
  'project rename': async (world) => {
    const made = await project(world);
    await world.lxc('project', 'rename', made.name, `${made.name}x`);
    expect((await world.daemon.get(`/1.0/projects/${made.name}x`)).name).toBe(`${made.name}x`);
  },
  'project delete': async (world) => {
    const made = await project(world);
    await world.lxc('project', 'delete', made.name);
    await isGone(world, `/1.0/projects/${made.name}`);
  },
  'project switch': async (world) => {
    const { lxc, daemon } = world;
    const [c, made] = [await running(world), await project(world)];
    await lxc('project', 'switch', made.name);
    try {
      expect(await lxc('list', '-f', 'csv', '-c', 'n')).toBe('');
      await lxc('init', 'bb', c, '-s', 'default');
    } finally {
      await lxc('project', 'switch', 'default');
    }
    expect((await daemon.get(`/1.0/containers/${c}?project=${made.name}`)).status).toBe('Stopped');
    expect((await daemon.get(`/1.0/containers/${c}`)).status).toBe('Running');
  },
};

async function alias({ lxc }: World): Promise<string> {
  const short = `short${name()}`;
  await lxc('alias', 'add', short, 'list');
  return short;
}

async function added({ lxc, https }: World): Promise<string> {
  const remote = `r${name()}`;
  await lxc('remote', 'add', remote, `https://${https}`, '--accept-certificate', '--password', 'pw');
  return remote;
}

/** Adds a certificate. Returns its fingerprint. */
async function trusted(world: World, ...flags: readonly string[]): Promise<string> {
  const certificate = file(world, `${name()}.crt`);
  const { certPem, fingerprint } = await makeClient('tests');
  writeFileSync(certificate, certPem);
  await world.lxc('config', 'trust', 'add', certificate, ...flags);
  return fingerprint;
}

/** The id of an operation that continues until it is cancelled. */
async function secret({ daemon }: World): Promise<string> {
  const { target } = await daemon.get('/1.0/images/aliases/bb');
  const { body } = await daemon.call('POST', `/1.0/images/${target}/secret`);
  return String(body.operation).split('/').at(-1) ?? '';
}

/** A warning about a container whose snapshot at the start failed. */
async function warned(world: World): Promise<{ readonly uuid: string; readonly container: string }> {
  const container = await made(world);
  await world.lxc('config', 'set', container, 'snapshots.schedule=@startup');
  const driver = world.daemon.host.storage['dir'] as { createSnapshot: unknown };
  const { createSnapshot } = driver;
  driver.createSnapshot = () => Promise.reject(new Error('a bad block'));
  try {
    await world.lxc('start', container);
  } finally {
    driver.createSnapshot = createSnapshot;
  }
  const all: { uuid: string; entity_url: string }[] = await world.daemon.get('/1.0/warnings?recursion=1');
  const { uuid = '' } = all.find((one) => one.entity_url === `/1.0/containers/${container}`) ?? {};
  return { uuid, container };
}

interface Made {
  readonly name: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly object: any;
  // oxlint-disable-next-line typescript/no-explicit-any
  read(): Promise<any>;
}

async function madeAs({ daemon }: World, path: string, of: string): Promise<Made> {
  const read = () => daemon.get(`${path}/${of}`);
  return { name: of, object: await read(), read };
}

async function profile(world: World): Promise<Made> {
  const of = name();
  await world.lxc('profile', 'create', of);
  await world.lxc('profile', 'set', of, 'user.a', '1');
  return madeAs(world, '/1.0/profiles', of);
}

async function profileDevice(world: World): Promise<Made> {
  const made = await profile(world);
  await world.lxc('profile', 'device', 'add', made.name, 'd', 'disk', `source=${world.work}`, 'path=/d');
  return made;
}

let subnets = 0;
async function network(world: World): Promise<Made & { readonly subnet: string }> {
  const of = name();
  const subnet = `10.99.${(subnets += 1)}`;
  await world.lxc('network', 'create', of, `ipv4.address=${subnet}.1/24`, 'ipv6.address=none');
  return { ...(await madeAs(world, '/1.0/networks', of)), subnet };
}

async function project(world: World): Promise<Made> {
  const of = name();
  await world.lxc('project', 'create', of, '-c', 'features.images=false');
  return madeAs(world, '/1.0/projects', of);
}
