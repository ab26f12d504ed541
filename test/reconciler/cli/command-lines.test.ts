// Whole command lines against a daemon in memory: their output on each stream, and their exit codes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { normalizeArgv } from '../../../reconciler/cli/flags/single-dash-flags.ts';
import { daemonLibrary } from '../../../reconciler/cli/session/embedded.ts';
import { hostOf } from '../../../reconciler/cli/session/host.ts';
import { parseAddress, parseDuration, parsePairs } from '../../../reconciler/cli/flags/parse-values.ts';
import { cli, type CliSetting } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';

const here = useCliWorld();

const two = `
kind: profile
name: web
config: { limits.memory: 1GiB }
---
kind: container
name: c1
profiles: [default, web]
source: { type: none }
state: running
`;

const run = (argv: readonly string[], setting: CliSetting = {}) => cli([...argv, '--host', here.daemon.host], setting);

const lines = (text: string): readonly Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test.each([
  [['plan', '--json', '--nosuch'], "unknown option '--nosuch'"],
  [['lisst', '--json'], 'lisst'],
  [['history', '--json', '--set'], 'argument missing'],
])('%j keeps standard error empty and ends with a diagnostic', async (argv, text) => {
  const { code, stdout, stderr } = await cli(argv);
  expect([code, stderr]).toEqual([64, '']);
  expect(lines(stdout).at(-1)).toMatchObject({
    type: 'diagnostic',
    diagnostic: { severity: 'error', summary: expect.stringContaining(text) },
  });
});

describe('apply', () => {
  test('An apply plans, runs, and ends with a summary; a second apply does nothing', async () => {
    const file = here.manifest(two);
    const first = await run(['apply', '-auto-approve', file]);
    expect(first.stderr).toContain('container/c1: Started after');
    expect(first.stdout).toContain('Apply complete! 2 added, 0 changed, 0 destroyed.');
    expect(first.code).toBe(0);
    expect(here.world.objects.container.get('c1')?.['status']).toBe('Running');
    const changes = here.world.changes.length;
    const second = await run(['apply', '-y', '-f', file, '-detailed-exitcode']);
    expect(second.code).toBe(0);
    expect(here.world.changes).toHaveLength(changes);
  });

  test('An apply exits with 2 after changes when --detailed-exitcode is given', async () => {
    expect((await run(['apply', '-auto-approve', '-detailed-exitcode', here.manifest(two)])).code).toBe(2);
  });

  test('An apply asks on a terminal, and accepts only yes', async () => {
    const file = here.manifest(two);
    const no = await run(['apply', file], { typed: 'y\n' });
    expect(no.code).toBe(1);
    expect(no.stderr).toContain("Only 'yes' will be accepted");
    expect(no.stderr).toContain('Not approved: nothing was changed');
    expect(here.world.changes).toEqual([]);
    const yes = await run(['apply', file], { typed: 'yes\n' });
    expect(yes.code).toBe(0);
    expect(here.world.objects.container.has('c1')).toBe(true);
  });

  test('An apply without a terminal and without approval is a usage error', async () => {
    const refused = await run(['apply', here.manifest(two)]);
    expect(refused.code).toBe(64);
    expect(refused.stderr).toContain('--auto-approve');
    expect(here.world.changes).toEqual([]);
  });

  test('A failed apply says what failed, why and what to do, and counts the finished steps', async () => {
    here.world.beforeChange = (what) => {
      if (what === 'start container/c1') throw new Error('no cgroup');
    };
    const failed = await run(['apply', '-y', here.manifest(two)]);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('Error: cannot start container/c1');
    expect(failed.stderr).toContain('no cgroup');
    expect(failed.stderr).toMatch(/ {2}-> fix the cause that the message names/);
    expect(failed.stdout).toContain('Apply incomplete: 2 added, 0 changed, 0 destroyed, 1 failed.');
  });

  test('An apply with --json writes only JSON lines, the version first and the summary last', async () => {
    const done = await run(['apply', '-json', '-auto-approve', here.manifest(two)]);
    const all = lines(done.stdout);
    expect(done.stderr).toBe('');
    expect(all[0]).toMatchObject({ type: 'version', ui: '1.0' });
    expect(all.filter(({ type }) => type === 'planned_change')).toHaveLength(2);
    expect(all.filter(({ type }) => type === 'change_summary').map(({ changes }) => changes)).toEqual([
      { add: 2, change: 0, import: 0, remove: 0, operation: 'apply' },
      { add: 2, change: 0, import: 0, remove: 0, operation: 'apply' },
    ]);
    expect(all.find(({ type }) => type === 'change_summary')).toMatchObject({
      owner: 'default',
      place: expect.any(String),
    });
    expect(all.at(-1)?.['type']).toBe('change_summary');
    expect(all.filter(({ type }) => type === 'apply_complete')).toHaveLength(
      all.filter(({ type }) => type === 'apply_start').length,
    );
  });

  test('A plan and a destroy with --json end with their summaries, too', async () => {
    const file = here.manifest(two);
    const summary = async (...argv: readonly string[]) => lines((await run([...argv, '-json', file])).stdout).at(-1);
    expect(await summary('plan')).toMatchObject({ changes: { add: 2, change: 0, remove: 0, operation: 'plan' } });
    await run(['apply', '-y', file]);
    expect(await summary('destroy', '-y')).toMatchObject({ changes: { remove: 2, operation: 'destroy' } });
  });

  test.each([
    [1, ['apply', '-y'], 'kind: containr\n', /containr/],
    [7, ['plan', '--host', 'unix:///nowhere.socket'], two, /cannot be reached|unreachable|no such file/],
    [64, ['plan', '--timeout', 'soon'], two, /--timeout .*soon/],
  ])('An error with exit code %i is a diagnostic with --json, after the version', async (code, argv, text, summary) => {
    const host = argv.includes('--host') ? [] : ['--host', here.daemon.host];
    const failed = await cli([...argv, ...host, '-json', here.manifest(text)]);
    const [version, error] = lines(failed.stdout);
    expect([failed.code, failed.stderr, version?.['type']]).toEqual([code, '', 'version']);
    expect(error).toMatchObject({ type: 'diagnostic', diagnostic: { severity: 'error' } });
    expect(JSON.stringify(error)).toMatch(summary);
  });

  test('An apply that is interrupted once ends its running steps and exits with 130', async () => {
    let interrupt = (): void => {};
    here.world.beforeChange = (what) => {
      if (what === 'create profile/web') interrupt();
    };
    const setting: CliSetting = { interrupts: (now) => (interrupt = now) };
    const ended = await run(['apply', '-y', '--parallelism', '1', here.manifest(two)], setting);
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain('Press Ctrl-C again');
    expect(ended.stdout).toContain('Apply interrupted: 1 added');
    expect(here.world.objects.profile.has('web')).toBe(true);
    expect(here.world.objects.container.size).toBe(0);
  });

  test('An apply paints rows on a terminal and erases them at the end', async () => {
    const done = await run(['apply', '-y', here.manifest(two)], { stderrTty: true, env: { TERM: 'xterm' } });
    expect(done.stderr).toContain('\u001b[J');
    expect(done.stderr.slice(done.stderr.lastIndexOf('\u001b[J'))).not.toContain('...');
    expect(done.stderr).toContain('Created');
  });
});

describe('plan', () => {
  test('A plan changes nothing, and exits with 2 when there are changes', async () => {
    const file = here.manifest(two);
    const plain = await run(['plan', file]);
    expect(plain.code).toBe(0);
    expect(plain.stdout).toContain('2 to add');
    expect((await run(['plan', file, '-detailed-exitcode'])).code).toBe(2);
    expect(here.world.changes).toEqual([]);
  });

  test('A plan with --target has only the target and its dependencies', async () => {
    const file = here.manifest(two);
    expect((await run(['plan', file, '-target=profile/web'])).stdout).toContain('1 to add');
    await run(['apply', '-y', file]);
    const gone = await run(['destroy', '-y', file, '--target', 'profile/web']);
    expect(gone.stdout).toContain('Destroy complete! 0 added, 0 changed, 2 destroyed.');
  });

  test('A plan as JSON has the whole plan under the keys of Terraform', async () => {
    const done = await run(['plan', here.manifest(two), '--format', 'plan-json']);
    expect(JSON.parse(done.stdout)).toMatchObject({
      format_version: expect.any(String),
      resource_changes: expect.any(Array),
    });
  });

  test('A plan that deletes a protected object exits with 4', async () => {
    const file = here.manifest(two.replace('state: running', 'state: running\nmanage: { protect: true }'));
    expect((await run(['apply', '-y', file])).code).toBe(0);
    const refused = await run(['destroy', '-y', file]);
    expect(refused.code).toBe(4);
    expect(here.world.objects.container.has('c1')).toBe(true);
  });
});

test('A destroy deletes the declared objects', async () => {
  const file = here.manifest(two);
  await run(['apply', '-y', file]);
  const done = await run(['destroy', '-auto-approve', file]);
  expect(done.code).toBe(0);
  expect(done.stdout).toContain('Destroy complete! 0 added, 0 changed, 2 destroyed.');
  expect(here.world.objects.container.size).toBe(0);
});

test('Status shows declared objects next to the live ones', async () => {
  const file = here.manifest(two);
  await run(['apply', '-y', file]);
  here.world.addresses.set('c1', '10.0.0.7');
  Object.assign(here.world.objects.profile.get('web')!, { config: { 'limits.memory': '2GiB' } });
  const shown = await run(['status', file]);
  expect(shown.stdout.split('\n').map((line) => line.split(/\s{2,}/))).toEqual([
    ['OBJECT', 'STATE', 'MANIFEST', 'ADDRESSES'],
    ['profile/web', 'present', 'to update'],
    ['container/c1', 'Running', 'in sync', '10.0.0.7'],
    [''],
  ]);
  expect((await run(['status', file, '--detailed-exitcode'])).code).toBe(2);
  expect(JSON.parse((await run(['status', file, '--json'])).stdout)[1]).toMatchObject({ addresses: ['10.0.0.7'] });
});

test('Show prints one live object or lists all', async () => {
  await run(['apply', '-y', here.manifest(two)]);
  const one = await run(['show', 'container/c1']);
  expect(one.stdout).toContain('name: c1');
  expect((await run(['show'])).stdout).toContain('container/c1');
  expect(JSON.parse((await run(['show', 'profile/web', '--json'])).stdout)).toMatchObject({
    kind: 'profile',
    name: 'web',
  });
  const none = await run(['show', 'container/none']);
  expect(none.code).toBe(1);
  expect(none.stderr).toContain('container/none does not exist');
});

describe('validate', () => {
  test('Validate needs no daemon and reports valid manifests', async () => {
    const done = await cli(['validate', here.manifest(two)]);
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout).toContain('Valid: 2 documents');
  });

  test('Validate shows mistakes with their place', async () => {
    const done = await cli(['validate', here.manifest('kind: profile\nname: web\nconfg: {}\n')]);
    expect(done.code).toBe(1);
    expect(done.stderr).toContain('main.yaml:3');
    const json = JSON.parse((await cli(['validate', '--json', here.folder])).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({ valid: false, error_count: 1 });
  });
});

describe('exit codes', () => {
  test('The exit code is 7 with the reason when the daemon is unreachable', async () => {
    for (const [host, why] of [
      [`unix://${here.folder}/none`, 'there is no such file; start the daemon (gantryd)'],
      ['https://127.0.0.1:1', 'connection refused'],
      ['https://host.invalid:8443', 'cannot be resolved'],
    ] as const) {
      const away = await cli(['plan', here.manifest(two), '--host', host]);
      expect([away.code, away.stderr]).toEqual([7, expect.stringContaining(why)]);
    }
  });

  test('The exit code is 64 for a wrong command line', async () => {
    for (const argv of [
      [],
      ['frobnicate'],
      ['plan', '--frob'],
      ['plan', here.manifest(two), '--host', 'ftp://x'],
      ['plan', here.manifest(two), '--target', 'web'],
      ['apply', here.manifest(two), '--parallelism', '0'],
      ['apply', here.manifest(two), '--timeout', 'soon'],
      ['apply', here.manifest(two), '--embedded', here.folder, '--host', 'unix:///x'],
    ]) {
      expect((await cli(argv)).code, argv.join(' ')).toBe(64);
    }
  });

  test('The exit code is 1 for a manifest that is not there', async () => {
    expect((await run(['plan', '-f', 'absent.yaml'])).code).toBe(1);
  });

  test('The exit code is 0 for help and version', async () => {
    expect(await cli(['--help'])).toMatchObject({ code: 0, stderr: '' });
    expect((await cli(['version'])).stdout).toMatch(/^Gantry \d/);
    expect(JSON.parse((await cli(['version', '-json'])).stdout)).toHaveProperty('gantry_version');
  });

  test('The exit code is 3 when an object changed between plan and apply', async () => {
    const file = here.manifest(two);
    await run(['apply', '-y', file]);
    here.manifest(two.replace('1GiB', '3GiB'));
    here.daemon.routes['GET /1.0/profiles/web'] = () => ({
      sync: { name: 'web', description: '', config: { 'limits.memory': '9GiB' }, devices: {}, used_by: [] },
    });
    const stale = await run(['apply', '-y', file]);
    expect(stale.code).toBe(3);
    expect(stale.stderr).toContain('someone changed it since the plan was made');
  });
});

describe('arguments', () => {
  test('Single dashes become double dashes for known long flags only', () => {
    const known = new Set(['auto-approve', 'target', 'json']);
    expect(
      normalizeArgv(['-auto-approve', '-target=a/b', '-f', '-y', '-x-y', '--json', '-', '--', '-json'], known),
    ).toEqual(['--auto-approve', '--target=a/b', '-f', '-y', '-x-y', '--json', '-', '--', '-json']);
  });

  test('Addresses, variables and durations are parsed', () => {
    expect(parseAddress('pool/fast')).toBe('storage_pool/fast');
    expect(parseAddress('image_alias/debian/12')).toBe('image_alias/debian/12');
    expect(() => parseAddress('web')).toThrow(/KIND\/NAME/);
    expect(parsePairs('--var', ['a=b=c'])).toEqual({ a: 'b=c' });
    expect(['90s', '5m', '1h30m', '15', '2d'].map((text) => parseDuration('--timeout', text))).toEqual([
      90_000, 300_000, 5_400_000, 15_000, 172_800_000,
    ]);
    for (const endless of ['99999999999999h', '99999999999999'])
      expect(() => parseDuration('--for', endless)).toThrow(/is not a duration/);
  });

  test('The host comes from the flag, then the environment, then the user', () => {
    expect(hostOf({ host: ['unix:///a'] }, { env: { GANTRY_HOST: 'unix:///b' }, userId: 0 })).toBe('unix:///a');
    expect(hostOf({}, { env: { GANTRY_HOST: 'https://h:1', GANTRY_SOCKET: '/s' }, userId: 0 })).toBe('https://h:1');
    expect(hostOf({}, { env: { GANTRY_SOCKET: '/s' }, userId: 0 })).toBe('unix:///s');
    expect(hostOf({}, { env: { XDG_RUNTIME_DIR: '/run/user/1' }, userId: 0 })).toBe(
      'unix:///var/lib/gantry/unix.socket',
    );
    expect(hostOf({}, { env: { XDG_RUNTIME_DIR: '/run/user/1' }, userId: 1 })).toBe(
      'unix:///run/user/1/gantry/unix.socket',
    );
  });
});

describe('an embedded daemon', () => {
  const fakeLibrary = (body: string): string => {
    const path = join(here.folder, 'embedded-daemon.mjs');
    writeFileSync(path, `export async function startEmbeddedDaemon(options) { ${body} }`);
    return path;
  };

  test('An embedded daemon is started in the directory, used, and stopped at the end', async () => {
    const stopped = join(here.folder, 'stopped');
    const library = fakeLibrary(`
      const { writeFileSync } = await import('node:fs');
      const stop = async () => writeFileSync(${JSON.stringify(stopped)}, options.stateDir + ' ' + options.runtime);
      return { socketPath: ${JSON.stringify(here.daemon.socketPath)}, runtime: 'sim', stop };
    `);
    const done = await cli(['apply', '-y', '--embedded', here.folder, here.manifest(two)], {
      env: { GANTRY_DAEMON_LIBRARY: library },
    });
    expect(done.stderr).toContain(`Started a daemon for this run in ${here.folder} (runtime sim)`);
    expect(done.code).toBe(0);
    const { readFileSync } = await import('node:fs');
    expect(readFileSync(stopped, 'utf8')).toBe(`${here.folder} auto`);
  });

  test('An embedded daemon that does not start is reported with its output', async () => {
    const library = fakeLibrary(`throw new Error('the store is locked');`);
    const failed = await cli(['plan', '--embedded', here.folder, here.manifest(two)], {
      env: { GANTRY_DAEMON_LIBRARY: library },
    });
    expect(failed.code).toBe(7);
    expect(failed.stderr).toMatch(/did not start in .*: the store is locked/);
  });

  test('The embedded daemon is the one next to the program', () => {
    expect(daemonLibrary({ GANTRY_DAEMON_LIBRARY: '/x' })).toBe('/x');
  });
});
