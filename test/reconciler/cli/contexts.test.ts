// Contexts: named servers, and what overrides the one in use.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { chosenServer, serverOptions } from '../../../reconciler/cli/session/contexts.ts';
import { cli } from '../../support/cli/io.ts';
import { withDaemon } from '../../support/daemons/daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const own = () => {
  const folder = tempFolder('gctx-');
  const env = { XDG_CONFIG_HOME: folder, HOME: folder };
  return { env, run: (...args: string[]) => cli(args, { env }), file: join(folder, 'gantry/contexts.json') };
};

test('commands go to the context in use and say so, and back to this machine', async () => {
  const { run, file } = own();
  await withDaemon({}, async (daemon) => {
    const host = `unix://${daemon.socketPath}`;
    expect(await run('context', 'add', 'lab', host, '--project', 'default')).toMatchObject({
      code: 0,
      stdout: 'lab\n',
    });
    expect((await run('list', '--host', 'lab')).code).toBe(0);
    expect((await run('list')).code, 'not in use yet').toBe(7);
    expect((await run('context', 'use', 'lab')).stdout).toBe(`lab: ${host}\n`);
    const listed = await run('list');
    expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining(`context lab: ${host}`) });
    expect((await run('list', '--json')).stderr).toBe('');
    expect((await run('version')).stderr).toBe('');
    expect((await run('context', 'list')).stdout).toMatch(/\* +lab/);
    expect((await run('completion', 'context', '')).stdout).toBe('lab\n');
    expect((await run('list', '--host', 'unix:///none.socket')).code).toBe(7);
    expect((await run('context', 'remove', 'lab')).stderr).toContain('lab was in use');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ contexts: {} });
  });
});

test('flags and variables override the context in use, and a certificate on the command line replaces its certificate and key', async () => {
  const { env, file } = own();
  mkdirSync(join(file, '..'), { recursive: true });
  const prod = { host: 'https://a:8443', clientCert: '/c', clientKey: '/k', project: 'team' };
  writeFileSync(file, JSON.stringify({ current: 'prod', contexts: { prod } }));
  expect(await chosenServer({}, env)).toEqual({
    options: { ...prod, host: ['https://a:8443'] },
    current: 'context prod: https://a:8443',
  });
  expect(await chosenServer({ project: 'mine', clientCert: '/x', clientKey: '/y' }, env)).toMatchObject({
    options: { host: ['https://a:8443'], project: 'mine', clientCert: '/x', clientKey: '/y' },
  });
  expect((await chosenServer({}, { ...env, GANTRY_HOST: 'prod' })).options).toEqual({
    ...prod,
    host: ['https://a:8443'],
  });
  for (const options of [
    { host: ['https://b:1'] },
    { host: ['/x/unix.socket'] },
    { hosts: 'hosts.yaml' },
    { embedded: 'dir' },
  ])
    expect(await chosenServer(options, env)).toEqual({ options });
  for (const more of [{ GANTRY_HOST: 'unix:///x' }, { GANTRY_SOCKET: '/x' }])
    expect(await chosenServer({}, { ...env, ...more })).toEqual({ options: {} });
});

test('every flag and argument that names a server takes a context', async () => {
  const { run } = own();
  await withDaemon({}, async (daemon) => {
    const host = `unix://${daemon.socketPath}`;
    await run('context', 'add', 'lab', host);
    for (const [argv, code, said] of [
      [['copy', 'c1', '--host', 'lab', '--target-host', 'lab'], 64, 'give the copy another name'],
      [['copy', 'c1', '--host', 'lab', '--target-host', 'lap'], 64, '"lap" is neither a context (did you mean lab?)'],
      [['migrate-from-lxd', '--dry-run', '--host', 'lab', '--lxd', 'lab'], 64, `${host} is both servers`],
      [['migrate-from-lxd', '--dry-run', '--host', 'lab', '--lxd', 'lap'], 64, 'did you mean lab?'],
      [['login', 'lab'], 64, `${host} is a local socket`],
      [['logout', 'lab'], 64, `${host} is a local socket`],
    ] as const) {
      const ran = await run(...argv);
      expect([argv, ran.code, ran.stderr]).toEqual([argv, code, expect.stringContaining(said)]);
    }
  });
});

test('flags go before what the context of a second server says', async () => {
  const { env, file } = own();
  mkdirSync(join(file, '..'), { recursive: true });
  const prod = { host: 'https://a:8443', clientCert: '/c', clientKey: '/k', project: 'team' };
  writeFileSync(file, JSON.stringify({ contexts: { prod } }));
  expect(await serverOptions({}, 'prod', env)).toEqual({ ...prod, host: ['https://a:8443'] });
  expect(await serverOptions({ clientCert: '/x', clientKey: '/y' }, 'prod', env)).toMatchObject({
    clientCert: '/x',
    clientKey: '/y',
  });
  expect(await serverOptions({ serverCert: 'pin' }, 'https://b:1', env)).toEqual({
    serverCert: 'pin',
    host: ['https://b:1'],
  });
});

test('a wrong name, address or file is refused with a remedy', async () => {
  const { env, run, file } = own();
  expect((await run('context', 'add', 'local', 'unix:///x')).stderr).toContain('cannot be the name of a context');
  expect((await run('context', 'add', 'a', 'web1')).stderr).toContain('https://HOST[:PORT] or unix:///PATH');
  expect((await run('context', 'add', 'a', 'https://x', '--client-cert', 'c')).stderr).toContain('given together');
  expect((await run('context', 'use', 'prod')).stderr).toContain('gantry context add NAME HOST makes one');
  await run('context', 'add', 'production', 'https://web1:8443');
  expect((await run('context', 'use', 'producton')).stderr).toContain('did you mean production');
  const unknown = await run('list', '--host', 'producton');
  expect([unknown.code, unknown.stderr]).toEqual([64, expect.stringContaining('did you mean production')]);
  expect(await run('list', '--host', '')).toMatchObject({ code: 64 });
  const two = await run('list', '--host', 'production', '--host', 'https://b:1');
  expect([two.code, two.stderr]).toEqual([64, expect.stringContaining('--hosts')]);
  const local = await run('context', 'remove', 'local');
  expect([local.code, local.stderr]).toEqual([64, expect.stringContaining('always there')]);
  const used = await cli(['context', 'use', 'production'], { env: { ...env, GANTRY_HOST: 'unix:///other' } });
  expect(used.stderr).toContain('GANTRY_HOST is set and goes before it: commands of this shell go to unix:///other');
  writeFileSync(file, 'null');
  expect((await run('list')).stderr).toContain('it holds no JSON object');
  writeFileSync(file, '{"contexts":{"a":{}}}');
  expect((await run('list')).stderr).toContain('the context a has no host');
  expect((await run('contexts')).stderr).toContain('gantry context list');
});

test('a configuration folder that cannot be made or written is named, with the reason', async () => {
  const { env, run } = own();
  symlinkSync('nowhere', join(env.HOME, 'gantry'));
  const why = `cannot make the folder ${env.HOME}/gantry: it already exists`;
  expect(await run('context', 'add', 'lab', 'https://a:8443')).toMatchObject({ code: 1, stderr: `Error: ${why}\n` });
});

test('contexts and remotes that are added at once are all there', async () => {
  const { run, file } = own();
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  await Promise.all(names.map((name) => run('context', 'add', name, 'https://a:8443')));
  const { contexts } = JSON.parse(readFileSync(file, 'utf8')) as { contexts: object };
  expect(Object.keys(contexts)).toEqual(names);
  await Promise.all(names.map((name) => run('remote', 'add', name, 'https://a:8443')));
  const remotes = JSON.parse(readFileSync(join(dirname(file), 'remotes.json'), 'utf8')) as object;
  expect(Object.keys(remotes).sort()).toEqual(names);
});
