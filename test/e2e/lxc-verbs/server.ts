// Proofs of verbs on profiles, networks, ACLs, projects, operations and trust that other kinds lack, and of those that the client carries out
// alone.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { makeClient } from '../../support/daemons/tls.ts';
import { lxcClient } from '../../support/hosts/lxd-clients.ts';
import { acl, network, profile, project, subnetOf } from './objects.ts';
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
    const [, token = ''] =
      /^([A-Za-z0-9+/=]{100,})$/m.exec(await world.lxc('config', 'trust', 'add', '--name', name())) ?? [];
    const [first, second] = [name(), name()].map((user) => lxcClient(file(world, 'nowhere'), file(world, user)));
    await first?.('remote', 'add', 'there', token);
    expect(await first?.('profile', 'list', 'there:')).toContain('default');
    const again = await second?.run(['remote', 'add', 'there', token]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('the token is not valid') });
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
  'profile copy': async (world) => {
    const made = await profile(world);
    await world.lxc('profile', 'copy', made.name, `${made.name}x`);
    await world.lxc('profile', 'copy', made.name, `b:${made.name}`);
    expect((await world.daemon.get(`/1.0/profiles/${made.name}x`)).config).toEqual({ 'user.a': '1' });
    expect((await world.other.get(`/1.0/profiles/${made.name}`)).config).toEqual({ 'user.a': '1' });
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
  'network info': async (world) =>
    expect(await world.lxc('network', 'info', (await network(world)).name)).toMatch(/State: up/),
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
    const [c, { name: parent }] = [await made(world), await network(world)];
    const address = `${subnetOf(parent)}.7`;
    const nic = ['nic', 'nictype=bridged', `parent=${parent}`, `ipv4.address=${address}`];
    await world.lxc('config', 'device', 'add', c, 'eth0', ...nic);
    const listed = await world.lxc('network', 'list-leases', parent, '-f', 'csv');
    expect(listed).toMatch(new RegExp(`^${c},00:16:3e:.*,${address},STATIC`, 'm'));
    expect(listed).toContain(`${parent}.gw,,${subnetOf(parent)}.1,GATEWAY`);
  },
  'network acl rule add': async (world) => {
    const made = await acl(world);
    await rule(world, 'add', made.name);
    const added = { action: 'allow', protocol: 'tcp', destination_port: '80', state: 'enabled' };
    expect((await made.read()).ingress).toEqual([added]);
  },
  'network acl rule remove': async (world) => {
    const made = await acl(world);
    for (const verb of ['add', 'remove']) await rule(world, verb, made.name);
    expect((await made.read()).ingress).toEqual([]);
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
  'project info': async (world) =>
    expect(await world.lxc('project', 'info', (await project(world)).name)).toMatch(/CONTAINERS/),
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

const rule = (world: World, verb: string, acl: string): Promise<string> =>
  world.lxc('network', 'acl', 'rule', verb, acl, 'ingress', 'action=allow', 'protocol=tcp', 'destination_port=80');

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
