// Proofs of verbs on containers: each asserts what has changed on the daemon, or what the daemon returned.
import { spawn } from 'node:child_process';
import { expect } from 'vitest';
import { statusOf } from '../../support/daemons/daemon.ts';
import { until } from '../../support/until.ts';
import { runProgram } from '../../support/hosts/lxd-clients.ts';
import { described } from './objects.ts';
import {
  container,
  edited,
  file,
  isGone,
  made,
  name,
  piped,
  running,
  textOf,
  type Proof,
  type World,
} from './world.ts';

const is = async (world: World, of: string, status: string): Promise<void> =>
  expect([of, await statusOf(world.daemon, of)]).toEqual([of, status]);

const snapshots = async ({ daemon }: World, of: string): Promise<string[]> =>
  (await daemon.get(`/1.0/containers/${of}/snapshots?recursion=1`)).map((each: { name: string }) => each.name);

export const containerProofs: Readonly<Record<string, Proof>> = {
  init: async (world) => {
    const c = name();
    await world.lxc('init', 'bb', c, '-c', 'user.a=b', '-p', 'default', '-s', 'default', '--ephemeral');
    expect(await container(world, c)).toMatchObject({ status: 'Stopped', ephemeral: true, config: { 'user.a': 'b' } });
    await world.lxc('init', '--empty', `${c}-empty`);
    expect((await container(world, `${c}-empty`)).config).not.toHaveProperty(['volatile.base_image']);
  },
  launch: async (world) => {
    const c = name();
    await world.lxc('launch', 'bb', c, '--no-profiles', '-s', 'default', '-t', 'c1-m1');
    expect(await container(world, c)).toMatchObject({ status: 'Running', profiles: [], config: { 'limits.cpu': '1' } });
    await world.lxc('stop', c, '--force');
  },
  list: async (world) => {
    const c = await made(world);
    expect(await world.lxc('list', c, '-f', 'csv', '-c', 'nstS')).toBe(`${c},STOPPED,CONTAINER,0\n`);
    expect(JSON.parse(await world.lxc('list', c, '-f', 'json'))[0]).toMatchObject({ name: c, status: 'Stopped' });
    expect(await world.lxc('list', c, '--fast', '-f', 'csv')).toMatch(new RegExp(`^${c},STOPPED,x86_64,`));
  },
  info: async (world) => {
    const c = await running(world);
    expect(await world.lxc('info', c, '--show-log')).toMatch(/Status: RUNNING[^]*Processes: \d/);
    expect(await world.lxc('info')).toMatch(/server: lxd/);
    expect(await world.lxc('info', '--resources')).toMatch(/Threads/);
  },
  start: async (world) => {
    const c = await made(world);
    await world.lxc('start', c);
    await is(world, c, 'Running');
    expect((await world.lxc.run(['start', c])).stderr).toMatch(/already running/);
  },
  stop: async (world) => {
    const c = await running(world);
    await world.lxc('stop', c, '--timeout', '30');
    await is(world, c, 'Stopped');
  },
  pause: async (world) => {
    const c = await running(world);
    await world.lxc('pause', c);
    await is(world, c, 'Frozen');
    await world.lxc('start', c);
    await is(world, c, 'Running');
  },
  restart: async (world) => {
    const c = await running(world);
    const { pid } = await world.daemon.get(`/1.0/containers/${c}/state`);
    await world.lxc('restart', c, '--force');
    expect((await world.daemon.get(`/1.0/containers/${c}/state`)).pid).not.toBe(pid);
  },
  delete: async (world) => {
    const [c, live] = [await made(world), await running(world)];
    await world.lxc('snapshot', c, 's');
    await world.lxc('delete', `${c}/s`);
    expect(await snapshots(world, c)).toEqual([]);
    await world.lxc('delete', c, live, '--force');
    for (const each of [c, live]) await isGone(world, `/1.0/containers/${each}`);
  },
  exec: async (world) => {
    const c = await running(world);
    expect(await world.lxc('exec', c, '--env', 'A=B', '--cwd', '/tmp', '--', 'sh', '-c', 'echo $A; pwd')).toBe(
      'B\n/tmp\n',
    );
    expect(await world.lxc.run(['exec', c, '-T', '--', 'sh', '-c', 'cat; exit 4'], { stdin: 'in' })).toMatchObject({
      code: 4,
      stdout: 'in',
    });
    expect(await world.lxc.run(['exec', c, '--', 'no-such-program'])).toMatchObject({
      code: 127,
      stderr: expect.stringMatching(/Error: Command not found\n$/),
    });
  },
  console: async (world) =>
    expect(await world.lxc('console', await running(world), '--show-log')).toMatch(/Console log:\s+\S/),
  rename: async (world) => {
    const c = await made(world);
    await world.lxc('rename', c, `${c}-new`);
    await isGone(world, `/1.0/containers/${c}`);
    expect((await container(world, `${c}-new`)).name).toBe(`${c}-new`);
  },
  copy: async (world) => {
    const c = await made(world);
    await world.lxc('config', 'device', 'add', c, 'n', 'nic', 'nictype=p2p');
    await world.lxc('snapshot', c, 's');
    // The client sends the whole config of the original, including addresses.
    await world.lxc('copy', c, `${c}-copy`, '-c', 'user.copied=1');
    const { config } = await container(world, `${c}-copy`);
    expect(config).toMatchObject({ 'user.copied': '1', 'volatile.n.hwaddr': expect.any(String) });
    expect(config['volatile.n.hwaddr']).not.toBe((await container(world, c)).config['volatile.n.hwaddr']);
    await world.lxc('copy', `${c}/s`, `${c}-of-s`, '--ephemeral');
    expect((await container(world, `${c}-of-s`)).ephemeral).toBe(true);
    for (const mode of ['pull', 'push', 'relay']) {
      await world.lxc('copy', `a:${c}`, `b:${c}-${mode}`, `--mode=${mode}`, '--instance-only');
      expect(await snapshots({ ...world, daemon: world.other }, `${c}-${mode}`)).toEqual([]);
    }
    await world.lxc('snapshot', c, 'later');
    await world.lxc('copy', `a:${c}`, `b:${c}-pull`, '--refresh');
    expect(await snapshots({ ...world, daemon: world.other }, `${c}-pull`)).toEqual(['later', 's']);
  },
  move: async (world) => {
    const c = await made(world);
    await world.lxc('move', c, `${c}-there`);
    await world.lxc('storage', 'create', `p${c}`, 'dir');
    await world.lxc('move', `${c}-there`, '-s', `p${c}`);
    expect((await container(world, `${c}-there`)).expanded_devices.root.pool).toBe(`p${c}`);
    await world.lxc('move', `a:${c}-there`, `b:${c}`, '-s', 'default');
    await isGone(world, `/1.0/containers/${c}-there`);
    expect((await container({ daemon: world.other }, c)).name).toBe(c);
  },
  snapshot: async (world) => {
    const c = await made(world);
    await world.lxc('snapshot', c);
    await world.lxc('snapshot', c, 'named', '--no-expiry');
    await world.lxc('snapshot', c, 'named', '--reuse');
    expect(await snapshots(world, c)).toEqual(['named', 'snap0']);
  },
  restore: async (world) => {
    const c = await made(world);
    await world.lxc('snapshot', c, 's');
    await world.lxc('config', 'set', c, 'user.later=1');
    await world.lxc('restore', c, 's');
    expect((await container(world, c)).config).not.toHaveProperty(['user.later']);
  },
  export: async (world) => {
    const c = await made(world);
    await world.lxc('export', c, file(world, `${c}.tar`), '--instance-only', '--compression', 'none');
    expect(textOf(file(world, `${c}.tar`))).toMatch(/^backup\/index\.yaml\0/);
  },
  import: async (world) => {
    const c = await made(world);
    await world.lxc('export', c, file(world, `${c}.tgz`));
    await world.lxc('import', file(world, `${c}.tgz`), `${c}-back`, '-s', 'default');
    expect((await container(world, `${c}-back`)).config['volatile.base_image']).toMatch(/^[0-9a-f]{64}$/);
  },
  publish: async (world) => {
    const c = await made(world);
    const expire = ['--expire', '2031-02-03T04:05:06Z'];
    await world.lxc('publish', c, '--alias', `i-${c}`, '--compression', 'none', '--public', ...expire, 'note=mine');
    const { target } = await world.daemon.get(`/1.0/images/aliases/i-${c}`);
    const image = await world.daemon.get(`/1.0/images/${target}`);
    expect(image).toMatchObject({ public: true, properties: { note: 'mine' }, expires_at: '2031-02-03T04:05:06Z' });
    await world.lxc('snapshot', c, 's');
    await world.lxc('publish', `${c}/s`, 'b:', '--alias', `i-${c}`);
    expect((await world.other.get(`/1.0/images/aliases/i-${c}`)).target).toMatch(/^[0-9a-f]{64}$/);
  },
  query: async ({ lxc, daemon }) => {
    const profile = name();
    await lxc('query', '-X', 'POST', '-d', JSON.stringify({ name: profile }), '/1.0/profiles');
    expect((await daemon.get(`/1.0/profiles/${profile}`)).name).toBe(profile);
  },
  monitor: async ({ lxc, daemon }) => {
    /** Its output once that has all of these; something happens on the daemon meanwhile. */
    const monitored = async (flags: string, wanted: readonly RegExp[], happen: () => unknown): Promise<string> => {
      const env = { ...process.env, ...lxc.env };
      const monitor = spawn('lxc', ['monitor', ...flags.split(' ')], { env, stdio: ['ignore', 'pipe', 'ignore'] });
      let output = '';
      monitor.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      try {
        await until(async () => {
          await happen();
          return wanted.every((pattern) => pattern.test(output));
        });
        return output;
      } finally {
        monitor.kill();
      }
    };
    await monitored('--type=lifecycle --format=json', [/"action":"profile-created"/], () =>
      daemon.call('POST', '/1.0/profiles', { name: name() }),
    );
    const ask = async (): Promise<void> => {
      await daemon.call('GET', '/1.0/containers?secret=hush');
      daemon.publish('a line of the daemon');
    };
    const logging = (level: string, ...wanted: RegExp[]): Promise<string> =>
      monitored(`--type=logging --pretty --loglevel=${level}`, wanted, ask);
    const info = await logging('info', /level=info msg="a line of the daemon"/);
    const debug = await logging('debug', /level=debug msg="Handling a request" ip=@ method=GET/, /a line/);
    expect(info).not.toContain('Handling a request');
    expect(debug).toContain('secret=***');
    expect(info + debug).not.toContain('hush');
  },
  'file push': async (world) => {
    const c = await running(world);
    const owned = ['--mode', '0601', '--uid', '3', '--gid', '4'];
    await world.lxc('file', 'push', file(world, 'pushed', 'data'), `${c}/root/deep/f`, '-p', ...owned);
    const { headers, bytes } = await world.daemon.call('GET', `/1.0/containers/${c}/files?path=/root/deep/f`);
    expect(headers).toMatchObject({ 'x-svc-mode': '0601', 'x-svc-uid': '3', 'x-svc-gid': '4' });
    expect(bytes.toString()).toBe('data');
  },
  'file pull': async (world) => {
    const c = await made(world);
    await world.daemon.call('POST', `/1.0/containers/${c}/files?path=/root/f`, Buffer.from('pulled'));
    expect(await world.lxc('file', 'pull', `${c}/root/f`, '-')).toBe('pulled');
    await world.lxc('file', 'pull', '-r', `${c}/root`, file(world, `tree-${c}`));
    expect(textOf(file(world, `tree-${c}/root/f`))).toBe('pulled');
  },
  'file edit': async (world) => {
    const c = await made(world);
    await world.daemon.call('POST', `/1.0/containers/${c}/files?path=/f`, Buffer.from('old'));
    // lxc opens its standard input by name, which fails for a socket.
    await runProgram('sh', ['-c', `echo new | lxc file edit ${c}/f`], { env: world.lxc.env });
    expect((await world.daemon.call('GET', `/1.0/containers/${c}/files?path=/f`)).bytes.toString()).toBe('new\n');
  },
  'file delete': async (world) => {
    const c = await made(world);
    await world.daemon.call('POST', `/1.0/containers/${c}/files?path=/f`, Buffer.from('x'));
    await world.lxc('file', 'delete', `${c}/f`);
    await isGone(world, `/1.0/containers/${c}/files?path=/f`);
  },
  'config set': async (world) => {
    const c = await made(world);
    await world.lxc('config', 'set', c, 'user.a=1', 'limits.memory=64MiB');
    expect((await container(world, c)).config).toMatchObject({ 'user.a': '1', 'limits.memory': '64MiB' });
    await world.lxc('config', 'set', 'images.auto_update_interval', '5');
    expect((await world.daemon.get('/1.0')).config['images.auto_update_interval']).toBe('5');
  },
  'config get': async (world) => {
    const c = await made(world);
    await world.lxc('config', 'set', c, 'user.a', '1');
    expect(await world.lxc('config', 'get', c, 'user.a')).toBe('1\n');
    expect(await world.lxc('config', 'get', 'core.https_address')).toBe(`${world.https}\n`);
  },
  'config unset': async (world) => {
    const c = await made(world);
    await world.lxc('config', 'set', c, 'user.a=1');
    await world.lxc('config', 'unset', c, 'user.a');
    expect((await container(world, c)).config).not.toHaveProperty(['user.a']);
  },
  'config show': async (world) => {
    const c = await made(world);
    await world.lxc('snapshot', c, 's');
    expect(await world.lxc('config', 'show', c, '--expanded')).toMatch(/devices:\n {2}root:\n {4}path: \//);
    expect(await world.lxc('config', 'show', `${c}/s`)).toMatch(/expires_at: 0001/);
    expect(await world.lxc('config', 'show')).toMatch(/core\.https_address: 127/);
  },
  'config edit': async (world) => {
    const c = await made(world);
    await edited(world, ['config', 'show', c], ['config', 'edit', c], described);
    expect((await container(world, c)).description).toBe('new');
    await world.lxc('snapshot', c, 's');
    await piped(world, 'expires_at: 2040-01-01T00:00:00Z\n', ['config', 'edit', `${c}/s`]);
    expect((await container(world, `${c}/snapshots/s`)).expires_at).toMatch(/^2040-01-01/);
  },
  'config device override': async (world) => {
    const c = await made(world);
    await world.lxc('config', 'device', 'override', c, 'root', 'readonly=true');
    expect((await container(world, c)).devices.root).toMatchObject({ path: '/', readonly: 'true' });
  },
  'config metadata show': async (world) =>
    expect(await world.lxc('config', 'metadata', 'show', await made(world))).toMatch(/os: busybox/),
  'config metadata edit': async (world) => {
    const c = await made(world);
    const words = (last: string): string[] => ['config', 'metadata', last, c];
    await edited(world, words('show'), words('edit'), (text) => text.replace('os: busybox', 'os: edited'));
    expect((await container(world, `${c}/metadata`)).properties.os).toBe('edited');
  },
  'config template create': async (world) => {
    const c = await withTemplate(world);
    expect(await container(world, `${c}/metadata/templates`)).toContain('t.tpl');
  },
  'config template list': async (world) =>
    expect(await world.lxc('config', 'template', 'list', await withTemplate(world))).toMatch(/t\.tpl/),
  'config template show': async (world) =>
    expect(await world.lxc('config', 'template', 'show', await withTemplate(world), 't.tpl')).toBe('text\n'),
  'config template edit': async (world) => {
    const c = await withTemplate(world);
    const { bytes } = await world.daemon.call('GET', `/1.0/containers/${c}/metadata/templates?path=t.tpl`);
    expect(bytes.toString()).toBe('text\n');
  },
  'config template delete': async (world) => {
    const c = await withTemplate(world);
    await world.lxc('config', 'template', 'delete', c, 't.tpl');
    expect(await container(world, `${c}/metadata/templates`)).not.toContain('t.tpl');
  },
};

async function withTemplate(world: World): Promise<string> {
  const c = await made(world);
  await world.lxc('config', 'template', 'create', c, 't.tpl');
  await piped(world, 'text\n', ['config', 'template', 'edit', c, 't.tpl']);
  return c;
}
