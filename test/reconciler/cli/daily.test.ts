// The verbs of daily work against a simulated daemon: power, deletion, lists, logs, and the owners of objects.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { jsonLinesTo, type Output } from '../../../reconciler/cli/session/context.ts';
import { lastLines, logPrinter, newPart } from '../../../reconciler/cli/verbs/daily/logs.ts';
import { gapNotes } from '../../../reconciler/cli/verbs/objects/events.ts';
import { utcSecond, utcSecondOrNever } from '../../../reconciler/core/text/times.ts';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { container, stack } from '../../support/cli/imageless-stack.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { until } from '../../support/until.ts';

let daemon: TestDaemon;
let manifest = '';
beforeAll(async () => {
  daemon = await makeDaemon();
  manifest = join(daemon.dir, 'stack.yaml');
});
afterAll(() => daemon?.cleanUp());

const gantry = (words: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli(words, { ...setting, env: { GANTRY_SOCKET: daemon.socketPath, ...setting.env } });

async function ok(words: readonly string[], setting: CliSetting = {}): Promise<CliRun> {
  const ran = await gantry(words, setting);
  expect([words.join(' '), ran.code, ran.stderr]).toEqual([words.join(' '), 0, ran.stderr]);
  return ran;
}

/** `web` and `db` belong to the set default, `own` to none; only `web` runs. */
async function begin(): Promise<void> {
  writeFileSync(manifest, stack(container('web'), container('db', 'state: stopped\n')));
  await ok(['apply', '-f', manifest, '-y']);
  await daemon.ok('POST', '/1.0/containers', { name: 'own', profiles: ['small'], source: { type: 'none' } });
}

afterEach(async () => {
  for (const { name, status } of (await daemon.get('/1.0/containers?recursion=1')) as {
    name: string;
    status: string;
  }[]) {
    if (status !== 'Stopped') await daemon.ok('PUT', `/1.0/containers/${name}/state`, { action: 'stop', force: true });
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
  }
});

const statusOf = async (name: string): Promise<string> =>
  ((await daemon.get(`/1.0/containers/${name}`)) as { status: string }).status;

describe('power', () => {
  test('start, stop, restart and pause change a container, or report that it already is in that state', async () => {
    await begin();
    expect((await ok(['start', 'own'])).stdout).toBe('container/own started\n');
    expect((await ok(['start', 'own'])).stdout).toBe('container/own runs already\n');
    expect((await ok(['pause', 'own'])).stdout).toBe('container/own paused\n');
    expect(await statusOf('own')).toBe('Frozen');
    expect((await ok(['start', 'container/own'])).stdout).toBe('container/own started\n');
    expect((await ok(['restart', 'own'])).stdout).toBe('container/own restarted\n');
    expect((await ok(['pause', 'own'])).code).toBe(0);
    expect(await ok(['stop', '-t', '20', 'own'])).toMatchObject({ stdout: 'container/own stopped\n', stderr: '' });
    expect((await ok(['stop', 'own'])).stdout).toBe('container/own is stopped already\n');
    expect(await statusOf('own')).toBe('Stopped');
  });

  test('stop says that the set of a container will start it again, and takes patterns', async () => {
    await begin();
    const { stdout, stderr } = await ok(['stop', 'w*', 'own']);
    expect(stdout).toBe('container/own is stopped already\ncontainer/web stopped\n');
    expect(stderr).toContain('container/web belongs to set default: its next apply starts it again');
  });

  test('--all of lxc means every container', async () => {
    await begin();
    expect((await ok(['stop', '--all'])).stdout).toContain('container/web stopped\n');
    expect((await ok(['start', '--all'])).stdout).toContain('container/own started\n');
    expect((await gantry(['info', '--all'])).stderr).toContain("unknown option '--all'");
  });

  test('an unknown name stops nothing, names the nearest one and exits with 1', async () => {
    await begin();
    const ran = await gantry(['stop', 'web', 'owm']);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('did you mean container/own?')]);
    expect(await statusOf('web')).toBe('Running');
    expect((await gantry(['stop', 'profile/small'])).code).toBe(64);
  });

  test('--json prints one object for each container, with the failure where there is one', async () => {
    await begin();
    await daemon.ok('PUT', '/1.0/containers/own/state', { action: 'start' });
    const { stdout } = await ok(['stop', 'own', 'db', '--json']);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual([
      { kind: 'container', name: 'db', action: 'stop', changed: false },
      { kind: 'container', name: 'own', action: 'stop', changed: true },
    ]);
  });
});

describe('delete', () => {
  test('a container without a set is deleted at once and reported as such', async () => {
    await begin();
    expect(await ok(['delete', 'own'])).toMatchObject({ stdout: 'container/own deleted (no set declared it)\n' });
  });

  test('a running container stays without --force', async () => {
    await begin();
    await daemon.ok('PUT', '/1.0/containers/own/state', { action: 'start' });
    const refused = await gantry(['rm', 'own']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('gantry stop own')]);
    expect(await statusOf('own')).toBe('Running');
    await ok(['rm', 'own', '--force']);
  });

  test('a declared container is deleted only after a question that says what the next apply does', async () => {
    await begin();
    const unasked = await gantry(['delete', 'db']);
    expect([unasked.code, unasked.stderr]).toEqual([64, expect.stringContaining('--auto-approve')]);
    expect(unasked.stderr).toContain('container/db belongs to set default (declared in tests)');
    expect(unasked.stderr).toContain('creates it again as declared');
    const refused = await gantry(['delete', 'db', 'own'], { typed: 'no\n' });
    expect([refused.code, await statusOf('db'), await statusOf('own')]).toEqual([1, 'Stopped', 'Stopped']);
    let interrupt = (): void => {};
    const halted = await gantry(['delete', 'db'], {
      typed: '',
      interrupts: (give) => (interrupt = give),
      onStderr: (text) => {
        if (text.includes('Enter a value')) interrupt();
      },
    });
    expect([halted.code, halted.stderr]).toEqual([130, expect.stringMatching(/value: \nError: Interrupted: nothing/)]);
    await ok(['delete', 'db'], { typed: 'yes\n' });
    expect((await gantry(['plan', '-f', manifest, '--detailed-exitcode'])).code).toBe(2);
    await ok(['apply', '-f', manifest, '-y']);
    expect(await statusOf('db')).toBe('Stopped');
    await ok(['delete', 'db', '-y']);
  });

  test('a pattern leaves out what cannot be deleted: interfaces of the host, default objects and the notes of sets', async () => {
    await begin();
    for (const name of ['spare1', 'spare2']) {
      await daemon.call('POST', '/1.0/networks', {
        name,
        type: 'bridge',
        config: { 'ipv4.address': 'none', 'ipv6.address': 'none' },
      });
      await daemon.call('POST', '/1.0/profiles', { name });
    }
    const { code, stdout, stderr } = await gantry(['delete', 'network/*', 'profile/*e*']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.match(/^\S+/gm)?.toSorted()).toEqual([
      'network/spare1',
      'network/spare2',
      'profile/spare1',
      'profile/spare2',
    ]);
    const named = await gantry(['delete', 'network/eth0']);
    expect([named.code, named.stderr]).toEqual([1, expect.stringContaining('eth0')]);
  });

  test('a protected container is refused with exit code 4', async () => {
    writeFileSync(manifest, stack(container('kept', 'state: stopped\nmanage: { protect: true }\n')));
    await ok(['apply', '-f', manifest, '-y']);
    const refused = await gantry(['delete', 'kept', '-y', '--force']);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('manage.protect')]);
    await ok(['release', 'container/kept']);
    await daemon.call('PATCH', '/1.0/containers/kept', { config: { 'security.protection.delete': '' } });
    await ok(['delete', 'kept']);
  });

  test('users are deleted before the objects that they use, in any order on the command line', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'passing' });
    await daemon.ok('POST', '/1.0/containers', {
      name: 'user',
      profiles: ['small', 'passing'],
      source: { type: 'none' },
    });
    const { stdout } = await ok(['delete', 'profile/passing', 'user']);
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual(['container/user', 'profile/passing', '']);
  });
});

describe('list and info', () => {
  test('an empty list says whether there is no container, or none with these labels', async () => {
    expect((await ok(['list'])).stderr).toBe('No container yet: gantry launch IMAGE NAME makes one\n');
    await begin();
    expect((await ok(['list', '-l', 'tier=none'])).stderr).toBe('No container has these labels\n');
    const hosts = join(daemon.dir, 'away.yaml');
    writeFileSync(hosts, `kind: hosts\nhosts: [{ name: h1, address: unix://${daemon.dir}/none.socket }]\n`);
    const away = await gantry(['list', '--hosts', hosts]);
    expect([away.code, away.stderr]).toEqual([7, expect.not.stringContaining('No container')]);
  });

  test('list shows each container with its state and set', async () => {
    await begin();
    const { stdout } = await ok(['list']);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(rows.map(([name, state]) => [name, state])).toEqual([
      ['NAME', 'STATE'],
      ['db', 'Stopped'],
      ['own', 'Stopped'],
      ['web', 'Running'],
    ]);
    expect(rows.map((row) => row.at(-1))).toEqual(['SET', 'default', '-', 'default']);
    const json = (await ok(['ls', 'own', '--json'])).stdout;
    expect(JSON.parse(json)).toMatchObject({ kind: 'container', name: 'own', state: 'Stopped', sets: [] });
  });

  test('list -o json is one array of the containers as the API has them, with their state', async () => {
    await begin();
    const all = JSON.parse((await ok(['list', '-o', 'json'])).stdout) as object[];
    expect(all).toMatchObject([
      { kind: 'container', name: 'db', status: 'Stopped' },
      { name: 'own' },
      { name: 'web', status: 'Running', profiles: ['small'], state: { status: 'Running' } },
    ]);
    expect((await ok(['list', 'w*', '-o', 'name'])).stdout).toBe('web\n');
    expect((await ok(['list', 'own', '-o', 'yaml'])).stdout).toMatch(/^---\nkind: container\nname: own\n/);
    expect(await gantry(['list', '-o', 'csv'])).toMatchObject({ code: 64 });
  });

  test('verbs that copy, move and reach into a missing container say that it does not exist', async () => {
    const text = join(daemon.dir, 'a.conf');
    writeFileSync(text, 'x');
    for (const words of [
      ['copy', 'none', 'other'],
      ['move', 'none', 'other'],
      ['file', 'push', text, 'none/etc/'],
      ['file', 'pull', 'none/etc/a', '-'],
      ['file', 'delete', 'none/etc/a'],
    ])
      expect(await gantry(words)).toMatchObject({
        code: 1,
        stderr: 'Error: container/none does not exist: gantry list shows what there is\n',
      });
    expect((await gantry(['start', 'none'])).stderr).toBe(
      'Error: container/none: the server has no such object: gantry list shows what there is\n',
    );
    await begin();
    const push = await gantry(['file', 'push', `${text}.not`, 'web/etc/']);
    expect(push.stderr).toBe(`Error: Cannot read ${text}.not: there is no such file or folder on this machine\n`);
  });

  test('info shows state, set and snapshots of a container', async () => {
    await begin();
    await ok(['snapshot', 'create', 'web/before']);
    const { stdout } = await ok(['info', 'web']);
    for (const text of ['Running', 'set default (declared in tests)', 'small', 'before'])
      expect(stdout).toContain(text);
    expect((await ok(['info', 'own'])).stdout).toMatch(/Declared by: +no set/);
    const json = JSON.parse((await ok(['info', 'web', '--json'])).stdout) as object;
    expect(json).toMatchObject({ name: 'web', state: { status: 'Running' }, owners: [{ set: 'default' }] });
    const missing = await gantry(['info', 'nothing']);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('gantry list')]);
  });
});

describe('several hosts', () => {
  test('power, lists and deletion reach the hosts with the container, and exit with 7 for an unreachable one', async () => {
    await begin();
    const other = await makeDaemon();
    onTestFinished(async () => {
      await other.cleanUp();
      rmSync(join(daemon.dir, 'hosts.yaml'), { force: true });
    });
    const hosts = join(daemon.dir, 'hosts.yaml');
    const address = (socket: string): string => `address: unix://${socket}`;
    writeFileSync(
      hosts,
      `kind: hosts\nhosts:\n  - { name: one, ${address(daemon.socketPath)} }\n  - { name: two, ${address(other.socketPath)} }\n`,
    );
    const on = (...words: string[]): Promise<CliRun> => gantry([...words, '--hosts', hosts]);
    expect(await on('start', 'own')).toMatchObject({ code: 0, stdout: 'one: container/own started\n' });
    expect((await on('list')).stdout).toMatch(/one +own +Running/);
    expect((await on('start', 'nowhere')).stderr).toContain('no selected host has it');
    const declared = await on('delete', 'db');
    expect([declared.code, declared.stderr]).toEqual([64, expect.stringContaining('container/db on one belongs')]);
    await other.stop();
    const partly = await on('stop', 'own', '--json');
    expect([partly.code, JSON.parse(partly.stdout)]).toEqual([
      7,
      { host: 'one', kind: 'container', name: 'own', action: 'stop', changed: true },
    ]);
  });
});

describe('logs', () => {
  test('events name a change that was made on the server itself', async () => {
    let interrupt = (): void => {};
    let text = '';
    const ended = gantry(['events'], {
      interrupts: (give) => (interrupt = give),
      onStdout: (more) => (text += more),
    });
    let turn = 0;
    await until(async () => {
      await daemon.call('PATCH', '/1.0/profiles/default', { config: { 'user.turn': `${(turn += 1)}` } });
      return text.includes('profile-updated');
    });
    interrupt();
    await ended;
    expect(text).toMatch(/profile-updated \/1\.0\/profiles\/default {2}by somebody on the server itself\n/);
  });

  test('logs prints the console, its last lines, and the names of other logs', async () => {
    await begin();
    mkdirSync(join(daemon.dir, 'logs/web'), { recursive: true });
    writeFileSync(join(daemon.dir, 'logs/web/console.log'), 'one\r\ntwo\r\n');
    expect((await ok(['logs', 'web'])).stdout).toBe('one\ntwo\n');
    expect((await ok(['logs', 'web', '--tail', '1'])).stdout).toBe('two\n');
    expect((await ok(['logs', 'web', '--json'])).stdout).toBe('{"line":"one"}\n{"line":"two"}\n');
    expect((await ok(['logs', 'web', '--log', 'list'])).stdout).toContain('console.log\n');
    expect((await ok(['logs', 'own'])).stderr).toMatch(/is stopped and its console is empty/);
    const unknown = await gantry(['logs', 'web', '--log', 'exec_nothing.stdout']);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('--log list shows what there is')]);
    const misnamed = await gantry(['logs', 'web', '--log', 'nothing']);
    expect([misnamed.code, misnamed.stderr]).toEqual([1, expect.stringContaining('container/web has no log nothing')]);
    for (const words of [
      ['logs', 'nothing'],
      ['logs', 'nothing', '--log', 'list'],
      ['logs', 'nothing', '--log', 'other'],
      ['exec', 'nothing', '--', 'true'],
      ['shell', 'nothing'],
      ['console', 'nothing'],
    ]) {
      const refused = await gantry(words);
      expect([words[0], refused.code, refused.stderr.split(': gantry list')[0]]).toEqual([
        words[0],
        1,
        'Error: container/nothing does not exist',
      ]);
    }
  });

  test('a growing log is followed, even when the server dropped its beginning', () => {
    expect(newPart('one\n', 'one\ntwo\n')).toBe('two\n');
    expect(newPart('one\ntwo\n', 'two\nthree\n')).toBe('two\nthree\n');
    const long = 'x'.repeat(300);
    expect(newPart(`one\n${long}`, `${long}three`)).toBe('three');
    const boot = Array.from({ length: 60 }, (_, at) => `step ${at}\n`).join('');
    expect(newPart(`${boot}crash\n${boot}`, `crash\n${boot}crash\n${boot}`)).toBe(`crash\n${boot}`);
    expect([lastLines('a\nb\nc\n', 2), lastLines('a\nb', 1), lastLines('a\n', 5)]).toEqual(['b\nc\n', 'b', 'a\n']);
  });

  test('a part of a log that ends within a character or a line is printed when the rest arrives', () => {
    const printed = (isJson: boolean, parts: readonly Buffer[]): string => {
      let text = '';
      const stdout = { write: (chunk: string) => ((text += chunk), true) };
      const print = logPrinter({ io: { stdout }, isJson, jsonObjects: jsonLinesTo(stdout, isJson) } as Output);
      for (const part of parts) print(part.toString('latin1'));
      print('', true);
      return text;
    };
    const whole = Buffer.from('größer\r\n€\r\nlogin: ');
    const single = Array.from(whole, (_, at) => whole.subarray(at, at + 1));
    expect(printed(false, single)).toBe('größer\n€\nlogin: ');
    expect(printed(true, single)).toBe('{"line":"größer"}\n{"line":"€"}\n{"line":"login: "}\n');
  });

  test('logs -f ends when the container stops', async () => {
    await begin();
    const following = gantry(['logs', 'web', '-f']);
    await daemon.ok('PUT', '/1.0/containers/web/state', { action: 'stop', force: true });
    expect((await following).code).toBe(0);
  });
});

describe('an unknown verb', () => {
  test.each([
    ['ps', 'gantry list'],
    ['kill', 'gantry stop --force'],
    ['remove', 'gantry delete'],
    ['bash', 'gantry shell'],
    ['inspect', 'gantry info'],
    ['monitor', 'gantry events'],
    ['warning', 'gantry doctor'],
    ['compose', 'gantry import compose'],
    ['drain', 'gantry cluster evacuate'],
    ['delte', 'gantry delete'],
    ['lisst', 'gantry list'],
  ])('%s is answered with the verb that does it', async (word, meant) => {
    const ran = await gantry([word, 'web']);
    expect([ran.code, ran.stderr]).toEqual([64, expect.stringContaining(`(did you mean ${meant}?)`)]);
  });

  test('a word without a similar verb gets no suggestion, and a group suggests its own verbs', async () => {
    expect((await gantry(['frobnicate'])).stderr).not.toContain('did you mean');
    expect((await gantry(['bi'])).stderr).not.toContain('did you mean');
    expect((await gantry(['image', 'lisst'])).stderr).toContain('did you mean gantry image list?');
    expect((await gantry(['context', 'lst'])).stderr).toContain('did you mean gantry context list?');
    expect((await gantry(['import', 'terraform'])).stderr).toContain('did you mean gantry import lxd-terraform?');
    expect((await gantry(['snapshot', 'frobnicate'])).stderr).not.toContain('did you mean');
  });

  test('help names it, and knows the others', async () => {
    const ran = await gantry(['help', 'lisst']);
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([
      64,
      '',
      expect.stringContaining('(did you mean gantry list?)'),
    ]);
    for (const words of [['help'], ['help', 'list'], ['help', 'image']])
      expect((await gantry(words)).stdout, words.join(' ')).toContain('Usage: gantry');
  });
});

test('explain finds a config key of containers without its kind, and still names an unknown kind', async () => {
  const key = await gantry(['explain', 'limits.memory']);
  expect(key).toEqual(await gantry(['explain', 'container.config.limits.memory']));
  expect(key.code).toBe(0);
  expect((await gantry(['explain', 'contaner'])).stderr).toContain('did you mean container?');
});

describe('a name that the verb does not take', () => {
  test.each([
    ['delete own/before', /own is no kind .*gantry snapshot delete own\/before/],
    ['info own/before', /gantry snapshot show own\/before/],
    ['info profile/small', /is no container: gantry info takes containers only.*gantry show profile\/small/],
    ['stop network/br0', /is no container: gantry stop takes containers only/],
    ['logs profile/small', /is no container: gantry logs takes containers only/],
    ['shell profile/small', /is no container: gantry shell takes containers only/],
    ['port-forward profile/small 80', /is no container: gantry port-forward takes containers only/],
    ['exec profile/small true', /is no container: gantry exec takes containers only/],
    ['console profile/small', /is no container: gantry console takes containers only/],
    ['list profile/small', /is no container: gantry list takes containers only/],
    ['top profile/small', /is no container: gantry top takes containers only/],
    ['wait profile/small --for running', /is no container: gantry wait takes containers only/],
    ['snapshot list profile/small', /is no container: gantry snapshot list takes containers only/],
    ['logs own/before', /own is no kind/],
    ['start own/before', /own is no kind/],
    ['set own/before a=b', /own is no kind/],
    ['show own', /"own" is not KIND\/NAME, such as container\/own/],
  ])('%s is answered with what to type instead', async (line, text) => {
    const { code, stderr } = await gantry(line.split(' '));
    expect([code, stderr]).toEqual([64, expect.stringMatching(text)]);
  });

  test('a project that the server lacks is no unreachable server', async () => {
    const { code, stderr } = await gantry(['list', '--project', 'lost']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('has no project lost: gantry get project')]);
  });

  test('a lock is taken away with approval only, and the message names the lock', async () => {
    await ok(['lock', '--set', 'held']);
    const { code, stderr } = await gantry(['force-unlock', '--set', 'held']);
    expect([code, stderr]).toEqual([64, expect.stringContaining('Taking a lock away needs approval')]);
    await ok(['force-unlock', '--set', 'held', '-y']);
  });
});

test('events say once that the connection is lost, and when it is back', () => {
  const notes: string[] = [];
  const onGap = gapNotes((text) => notes.push(text));
  for (const reason of ['disconnected', 'disconnected', 'disconnected', 'reconnected', 'disconnected'] as const)
    onGap(reason);
  expect(notes.map((text) => text.split(':')[0])).toEqual([
    'The connection is lost',
    'Connected again',
    'The connection is lost',
  ]);
});

test('times of a server in another zone are printed in UTC and say so', () => {
  expect(utcSecond('2026-01-31T10:00:00.123456789+02:00')).toBe('2026-01-31T08:00:00Z');
  expect(utcSecond('yesterday')).toBe('yesterday');
  expect(['0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', ''].map(utcSecondOrNever)).toEqual(['', '', '']);
});
