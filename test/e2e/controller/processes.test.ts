// Controllers as processes: the verbs that call one, and the takeover after a kill.
import type { ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Overview } from '../../../reconciler/controller/contract/index.ts';
import { cli } from '../../support/cli/io.ts';
import { buildPrograms } from '../../support/cli/programs.ts';
import { killed, listening, spawnController } from '../../support/controller/process.ts';
import { openControllerWorld, profileText, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const token = 'a-token-of-forty-characters-for-the-tests';

const programs = buildPrograms();
let world: ControllerWorld;
const children = new Set<ChildProcess>();
afterEach(async () => {
  await Promise.all([...children].map(killed));
  await world.close();
});

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
}

/** `state`: controllers with different state directories only see each other through the hosts. */
async function start(state: string): Promise<Running> {
  const file = join(world.folder, `${state}.yaml`);
  await writeFile(join(world.folder, 'token'), `${token}\n`, { mode: 0o600 });
  await writeFile(
    file,
    `controller:
  stateDir: ${state}
  listen: 127.0.0.1:0
  auth: { tokens: [{ name: ann, role: operate, file: token }] }
hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: manifests, interval: 100ms } }
sets:
  - { name: web, source: shop }
`,
  );
  const running = spawnController(programs.gantry, file);
  children.add(running.child);
  return { child: running.child, url: await listening(running) };
}

const noteOf = async (host: number): Promise<string | undefined> => (await world.profile(host, 'web'))?.['user.note'];

describe('controllers as processes', () => {
  test('the verbs show and change what a running controller does', async () => {
    world = await openControllerWorld(2);
    await world.write('a.yaml', profileText('web', { 'user.note': 'a' }));
    const { child, url } = await start('one');
    const tokenFile = join(world.folder, 'token');
    const verb = (...words: readonly string[]) =>
      cli(['controller', ...words, '--url', url, '--token-file', tokenFile]);
    await until(async () => /^web +2 +synced/m.test((await verb('status', 'web')).stdout), waitMs);
    const shown = await verb('status', 'web');
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/^ +h2 +synced +\w{12} +1\/1/m);
    const held = await verb('suspend', 'web', '--object', 'profile/web', '--for', '1h', '--reason', 'load test');
    expect(held.stdout).toMatch(/^profile\/web is left alone until /);
    expect((await verb('status')).stdout).toMatch(
      /^suspended: web profile\/web until \S+ by ann: load test \(id \w+\)$/m,
    );
    await world.meddle(1, 'web', { 'user.note': 'b' });
    await until(
      async () => (await verb('status', '-o', 'json')).stdout.includes('"suspended"') || (await noteOf(1)) === 'b',
      waitMs,
    );
    expect((await verb('resume', 'web')).stdout).toBe('The set web is resumed.\n');
    await until(async () => (await noteOf(1)) === 'a', waitMs);
    expect((await verb('sync', 'web', '--host', 'h2')).stdout).toMatch(/compared and applied now/);
    expect(await verb('sync', 'none')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no set none'),
    });
    expect(await verb('suspend', 'web')).toMatchObject({ code: 64, stderr: expect.stringContaining('--reason') });
    const anonymous = await cli(['controller', 'status', '--url', url]);
    expect(anonymous).toMatchObject({ code: 1, stderr: expect.stringContaining('--token-file') });
    child.kill('SIGTERM');
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(code).toBe(0);
    expect((await verb('status')).stderr).toContain('cannot be reached');
  });

  test('a controller that cannot start reports place and remedy, without a stack trace', async () => {
    world = await openControllerWorld(1);
    const file = join(world.folder, 'bad.yaml');
    const source = (url: string): string =>
      `sources: [{ name: shop, git: { url: "${url}" } }]\nsets: [{ name: web, source: shop }]\n`;
    const api = (token: string): string =>
      `controller: { listen: "127.0.0.1:0", auth: { tokens: [{ name: ann, role: view, file: ${token} }] } }\n`;
    const hosts = 'hosts: { file: hosts.yaml }\n';
    for (const [text, said] of [
      [`${api('none')}${hosts}${source('file:///x')}`, /The token of ann cannot be read: .*openssl rand -hex 32 > /],
      [`${hosts}${source('https://ann:secret@h/x.git')}`, /it holds a password; write it to the file of credentials/],
      [`hosts: { file: none.yaml }\n${source('file:///x')}`, /none\.yaml does not exist[^]*hosts\.file/],
      [
        `${hosts}${source('file:///x').replace('web,', 'web, hosts: role=db,')}`,
        /bad\.yaml:3:\d+[^]*the set web: no host of the hosts file|the set web: no host of the hosts file[^]*bad\.yaml:3:\d+/,
      ],
    ] as const) {
      await writeFile(file, text);
      const run = await cli(['controller', '--config', file]);
      expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(said) });
      expect(run.stderr).not.toMatch(/^ +at |secret@/m);
    }
  });

  test('SIGHUP, even twice, reloads the configuration and ends nothing', async () => {
    world = await openControllerWorld(1);
    await world.write('a.yaml', profileText('web', { 'user.note': 'a' }));
    const { child, url } = await start('one');
    await until(async () => (await noteOf(1)) === 'a', waitMs);
    const file = join(world.folder, 'one.yaml');
    const before = await readFile(file, 'utf8');
    const overview = async (): Promise<Overview> => {
      const answer = await fetch(`${url}/api/v1/overview`, { headers: { authorization: `Bearer ${token}` } });
      return (await answer.json()) as Overview;
    };
    await writeFile(file, before.replace('name: web,', 'name: web, mode: report,'));
    child.kill('SIGHUP');
    child.kill('SIGHUP');
    await until(async () => (await overview()).sets[0]?.mode === 'report', waitMs);
    await writeFile(file, 'sets: [');
    await until(async () => ((await overview()).controller.config?.problems.length ?? 0) > 0, waitMs);
    const tokenFile = join(world.folder, 'token');
    const shown = await cli(['controller', 'status', '--url', url, '--token-file', tokenFile]);
    expect(shown.stdout).toMatch(/^configuration: .*one\.yaml:1:/m);
    expect(await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text()).toMatch(
      /^gantry_config_problems [1-9]/m,
    );
    expect(child.exitCode).toBeNull();
    child.kill('SIGTERM');
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0);
  });

  test('the second controller takes over after a kill, and not before', async () => {
    world = await openControllerWorld(3);
    await world.write('a.yaml', profileText('web', { 'user.note': 'a' }));
    const first = await start('one');
    await until(async () => (await noteOf(3)) === 'a', waitMs);
    const second = await start('two');
    const isActive = async ({ url }: Running): Promise<boolean> => {
      const answer = await fetch(`${url}/api/v1/overview`, { headers: { authorization: `Bearer ${token}` } });
      return ((await answer.json()) as { controller: { isActive: boolean } }).controller.isActive;
    };
    await until(async () => (await fetch(`${second.url}/readyz`)).status === 200, waitMs);
    expect([await isActive(first), await isActive(second)]).toEqual([true, false]);
    await killed(first.child);
    await world.meddle(2, 'web', { 'user.note': 'b' });
    await until(async () => (await noteOf(2)) === 'a', waitMs);
    expect(await isActive(second)).toBe(true);
  });
});
