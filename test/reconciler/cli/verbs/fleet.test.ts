// Verbs for several hosts on simulated daemons: reading, rollback, dry run, lock and the continuous loop.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../../support/cli/io.ts';
import type { TestDaemon } from '../../../support/daemons/daemon.ts';
import { sharedDaemons } from '../../../support/daemons/emptied.ts';
import { repository } from '../../../support/cli/programs.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let dir = '';
let daemons: readonly TestDaemon[] = [];
const shared = sharedDaemons();
beforeEach(async () => {
  dir = tempFolder('gtfv-');
  daemons = await shared(2);
  writeHosts();
});

const names = ['web1', 'web2'] as const;
const write = (file: string, text: string): void => writeFileSync(join(dir, file), text);
const at = (index: number): TestDaemon => {
  const daemon = daemons[index];
  if (daemon === undefined) throw new Error('two daemons were started');
  return daemon;
};

/** `more`: further hosts, such as an unreachable one. */
function writeHosts(more = ''): void {
  const hosts = names.map(
    (name, index) =>
      `  - { name: ${name}, address: "unix://${at(index).socketPath}", labels: { rank: r${index} }, vars: { RANK: "${index}" } }\n`,
  );
  write('hosts.yaml', `kind: hosts\nhosts:\n${hosts.join('')}${more}`);
}
const nobody = (): string => `  - { name: gone, address: "unix://${dir}/nobody.socket", vars: { RANK: "9" } }\n`;

const stack = (memory: string): string =>
  `kind: profile\nname: common\ndescription: rank $RANK\nconfig: { limits.memory: ${memory} }\n`;

const env = { GANTRY_DAEMON_LIBRARY: join(repository, 'server', 'daemon', 'embedded.ts') };
const gantry = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli([...argv, '--hosts', join(dir, 'hosts.yaml')], { ...setting, env: { ...env, ...setting.env } });
const withStack = (verb: string, ...more: readonly string[]): Promise<CliRun> =>
  gantry([verb, '-f', join(dir, 'stack.yaml'), ...more]);
const memoryOf = async (index: number): Promise<string | undefined> =>
  ((await at(index).get('/1.0/profiles/common')) as { config: Record<string, string> }).config['limits.memory'];
const patch = async (index: number, memory: string): Promise<void> => {
  const answer = await at(index).call('PATCH', '/1.0/profiles/common', { config: { 'limits.memory': memory } });
  expect(answer.status).toBeLessThan(300);
};
async function apply(memory: string, ...more: readonly string[]): Promise<void> {
  write('stack.yaml', stack(memory));
  const run = await withStack('apply', '-y', ...more);
  expect(run.code, run.stderr + run.stdout).toBe(0);
}

describe('reading verbs on several hosts', () => {
  test('Diff is one patch with the hosts as path prefixes, and has the exit codes of diff(1)', async () => {
    await apply('64MiB');
    expect(await withStack('diff')).toMatchObject({ code: 0, stdout: '' });
    await patch(1, '1GiB');
    const one = await withStack('diff');
    expect([one.code, one.stdout]).toEqual([
      1,
      expect.stringContaining('--- live/web2/profile/common\n+++ declared/web2/profile/common\n'),
    ]);
    expect(one.stdout).not.toContain('web1');
    writeHosts(nobody());
    const broken = await withStack('diff', '--json');
    expect(broken.code).toBe(7);
    const { hosts } = JSON.parse(broken.stdout) as { hosts: { host: string; diff?: string; error?: object }[] };
    expect(hosts.map(({ host, diff }) => [host, diff?.includes('+  limits.memory: 64MiB')])).toEqual([
      ['web1', false],
      ['web2', true],
      ['gone', undefined],
    ]);
    write('stack.yaml', 'kind: profil\n');
    expect((await withStack('diff')).code).toBe(2);
  });

  test('History has a row for each revision of each host, and names hosts without revisions', async () => {
    await apply('64MiB', '-m', 'first', '--host', 'web1');
    await apply('128MiB', '-m', 'second', '--host', 'web1');
    writeHosts(nobody());
    const table = await gantry(['history']);
    expect(table.code).toBe(7);
    expect(table.stdout).toMatch(
      /^HOST +REVISION +WHEN.*\nweb1 +2 .*second\nweb1 +1 .*first\nweb2 .*none yet\ngone .*unreach/,
    );
    const lines = (await gantry(['history', '--json', '-l', 'rank'])).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { host: 'web1', number: 2, message: 'second' },
      { host: 'web1', number: 1, message: 'first' },
    ]);
    expect((await gantry(['history', 'show', '1'])).stderr).toContain('gantry history show works on one host');
    const shown = await cli(['history', 'show', '1', '--host', 'web1', '--hosts', join(dir, 'hosts.yaml')]);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('rank 0')]);
    expect((await cli(['history', '-l', 'rank'])).stderr).toContain('--selector selects hosts here');
  });

  test('Export writes a directory for each host, and a plan there is empty', async () => {
    await apply('64MiB', '--host', 'web1');
    expect((await gantry(['export'])).code).toBe(64);
    expect((await gantry(['export', '-o', join(dir, 'all.yaml')])).stderr).toContain('name DIR with -o DIR');
    writeHosts(nobody());
    const run = await gantry(['export', 'profile', '-o', join(dir, 'live')]);
    expect([run.code, run.stderr]).toEqual([7, expect.stringContaining('gone: unreachable')]);
    expect(readFileSync(join(dir, 'live', 'web1', 'profile.yaml'), 'utf8')).toContain('name: common');
    expect(run.stderr).toContain('web2: failed: profile: the server has no such object');
    expect(readdirSync(join(dir, 'live'))).toEqual(['web1']);
    const plan = await gantry(['plan', join(dir, 'live', 'web1'), '--host', 'web1', '--detailed-exitcode']);
    expect(plan.code, plan.stdout).toBe(0);
    expect((await gantry(['export', 'profile', '-o', join(dir, 'live'), '-l', 'rank'])).code).toBe(1);
  });

  test('Doctor checks this machine once and each host, and exits with the worst result', async () => {
    const good = await gantry(['doctor']);
    expect(good.code, good.stdout).toBe(0);
    expect(good.stdout.match(/ program /g)).toHaveLength(1);
    expect(good.stdout).toMatch(/^ok +web1 trust .*\n/m);
    expect(good.stdout).toMatch(/^ok +web2 trust .*\n/m);
    writeHosts(nobody());
    const bad = await gantry(['doctor', '--json']);
    expect(bad.code).toBe(7);
    const { findings } = JSON.parse(bad.stdout) as { findings: { host?: string; name: string; level: string }[] };
    expect(findings.filter(({ host }) => host === 'gone')).toMatchObject([{ name: 'daemon', level: 'error' }]);
  });

  test('A watch reports each host by its name, also an unreachable one', async () => {
    await apply('64MiB');
    writeHosts(nobody());
    let stdout = '';
    let stderr = '';
    let interrupt = (): void => {};
    const watching = gantry(['drift', '--watch', join(dir, 'stack.yaml')], {
      onStdout: (text) => void (stdout += text),
      onStderr: (text) => void (stderr += text),
      interrupts: (given) => void (interrupt = given),
    });
    await until(() => (stdout.match(/^web\d \| .*Watching for changes/gm) ?? []).length === 2);
    await until(() => /^gone \| unreachable: .*retrying$/m.test(stderr));
    await patch(1, '1GiB');
    await until(() => /^web2 \| .*1 of 1 object/m.test(stdout));
    interrupt();
    expect((await watching).code).toBe(130);
    const lines = (await withStack('drift', '--watch', '-o', 'json', '--for', '2s', '-l', 'rank')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; host: string; drifted?: number });
    const drifted = lines.flatMap(({ type, host, drifted: count }) =>
      type === 'drift_summary' ? [[host, count] as const] : [],
    );
    expect(Object.fromEntries(drifted)).toEqual({ web1: 0, web2: 1 });
  });
});

describe('a dry run on copies of several hosts', () => {
  test('A dry run on several hosts reports what each daemon would refuse, with its exit code, and changes nothing', async () => {
    await apply('64MiB');
    write(
      'stack.yaml',
      `${stack('128MiB')}---\nkind: profile\nname: odd\ndevices: { eth0: { type: nic, nictype: bridged, parent: nobr0 } }\n`,
    );
    await at(1).call('POST', '/1.0/profiles', { name: 'other' });
    const good = await withStack('plan', '--dry-run=server', '--exclude', 'profile/odd');
    expect(good.code, good.stderr).toBe(0);
    expect(good.stdout).toMatch(/^web1 +1 +0 +0 +0$/m);
    expect(good.stdout).toContain('Dry run on 2 hosts: 2 would succeed.');
    write('stack.yaml', stack('lots'));
    const bad = await withStack('apply', '--dry-run=server');
    expect(bad.code).not.toBe(0);
    expect([await memoryOf(0), await memoryOf(1)]).toEqual(['64MiB', '64MiB']);
    write('stack.yaml', stack('128MiB'));
    const json = JSON.parse((await withStack('plan', '--dry-run=server', '-o', 'json')).stdout) as {
      hosts: { host: string; plan: object; dry_run: { accepted: number } }[];
    };
    expect(json.hosts.map(({ host, dry_run: tried }) => [host, tried.accepted])).toEqual([
      ['web1', 1],
      ['web2', 1],
    ]);
    const lines = (await withStack('destroy', '--dry-run=server', '--json')).stdout.trimEnd().split('\n');
    const events = lines.map((line) => JSON.parse(line) as { type: string; host?: string });
    expect(events.filter(({ type }) => type === 'dry_run_step').map(({ host }) => host)).toEqual(['web1', 'web2']);
    expect(events.at(-1)).toMatchObject({ type: 'fleet_dry_run', hosts: [{ host: 'web1', accepted: 1 }, {}] });
    expect((await withStack('plan', '--dry-run=server', '-o', 'markdown')).stdout).toContain(
      'Dry run: 1 would succeed.',
    );
    const file = join(dir, 'kept.plan');
    expect((await withStack('plan', '--out', file)).code).toBe(0);
    const kept = await gantry(['apply', file, '--dry-run=server']);
    expect([kept.code, kept.stdout]).toEqual([0, expect.stringContaining('Dry run on 2 hosts: 2 would succeed.')]);
    expect([await memoryOf(0), await memoryOf(1)]).toEqual(['64MiB', '64MiB']);
  });
});

describe('rollback on several hosts', () => {
  test('A rollback goes batch by batch, stops at a failed host, and refuses a number with different meanings', async () => {
    await apply('64MiB', '-m', 'first');
    await apply('128MiB', '-m', 'second');
    const dry = await gantry(['rollback', '--dry-run=server']);
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('2 would succeed')]);
    expect((await gantry(['rollback'])).code).toBe(64);
    expect((await cli(['lock', '--host', `unix://${at(1).socketPath}`])).code).toBe(0);
    const stopped = await gantry(['rollback', '1', '-y', '--canary', 'web2']);
    expect([stopped.code, stopped.stdout]).toEqual([5, expect.stringContaining('failed: web2; not started: web1')]);
    expect((await cli(['force-unlock', '-y', '--host', `unix://${at(1).socketPath}`])).code).toBe(0);
    const back = await gantry(['rollback', '1', '-y', '--batch', '1']);
    expect(back.code, back.stderr + back.stdout).toBe(0);
    expect(back.stderr).toMatch(/^web1 \| Rolling back to revision 1 of .* \("first"/m);
    expect(back.stderr).toContain('Batch (2 of 2): web2');
    expect(back.stdout).toContain('2 of 2 hosts done');
    expect([await memoryOf(0), await memoryOf(1)]).toEqual(['64MiB', '64MiB']);
    expect((await gantry(['history', '--host', 'web2', '-o', 'json'])).stdout).toContain('"rollback_of": 1');
    write('stack.yaml', stack('64MiB'));
    expect((await withStack('plan', '--detailed-exitcode')).code).toBe(0);

    await apply('256MiB', '-m', 'alone', '--host', 'web1');
    await apply('512MiB', '-m', 'both');
    const number = ((await gantry(['history', '--host', 'web1', '-o', 'json'])).stdout.match(/"number": (\d+)/) ??
      [])[1];
    const strange = await gantry(['rollback', String(Number(number) - 1), '-y']);
    expect([strange.code, strange.stderr]).toEqual([64, expect.stringContaining('differs between hosts')]);
    expect(strange.stderr).toContain('web1: ("alone"');
    const lost = await gantry(['rollback', '99', '-y']);
    expect([lost.code, lost.stdout]).toEqual([1, expect.stringContaining('has no revision 99')]);
  });
});

describe('locking several hosts', () => {
  test('A lock keeps runs away from each host, reports existing locks, and is undone at once', async () => {
    write('stack.yaml', stack('64MiB'));
    expect((await cli(['lock', '--host', `unix://${at(1).socketPath}`, '--reason', 'mine'])).code).toBe(0);
    const locked = await gantry(['lock', '--for', '10m', '--reason', 'freeze']);
    expect([locked.code, locked.stdout]).toEqual([
      5,
      expect.stringMatching(/^web1: The set default is locked until .*\n$/),
    ]);
    expect(locked.stderr).toContain('web2: locked: ');
    expect((await withStack('apply', '-y', '--keep-going')).code).toBe(5);
    expect((await gantry(['force-unlock'])).code).toBe(64);
    expect((await gantry(['force-unlock', 'abc', '-y'])).code).toBe(64);
    const open = await gantry(['force-unlock', '-y', '--json']);
    expect(open.code, open.stderr).toBe(0);
    expect(JSON.parse(open.stdout)).toMatchObject({
      hosts: [{ host: 'web1', message: 'The set default is unlocked.' }, {}],
    });
    const expecting = await withStack('apply', '-y', '--expect-no-changes');
    expect([expecting.code, expecting.stderr]).toEqual([1, expect.stringContaining('There are changes on web1, web2')]);
    expect((await withStack('plan', '--json', '--expect-no-changes')).stdout).toContain('"type":"fleet_plan"');
    await apply('64MiB');
    expect((await withStack('plan', '--expect-no-changes')).code).toBe(0);
  });
});

describe('the loop over several hosts', () => {
  test('A loop over hosts works batch by batch, corrects drift, halts at a failed host, and rolls out new manifests in the same way', async () => {
    write('stack.yaml', stack('64MiB'));
    let stderr = '';
    let interrupt = (): void => {};
    expect((await cli(['lock', '--host', `unix://${at(0).socketPath}`])).code).toBe(0);
    const running = gantry(['run', '-y', '--interval', '1s', join(dir, 'stack.yaml')], {
      onStderr: (text) => void (stderr += text),
      interrupts: (given) => void (interrupt = given),
    });
    try {
      await until(
        () => stderr.includes('Failing: web1 (locked). Until they recover, these hosts are not changed: web2'),
        30_000,
      );
      expect(stderr).not.toContain('Batch (2 of 2)');
      expect((await cli(['force-unlock', '-y', '--host', `unix://${at(0).socketPath}`])).code).toBe(0);
      await until(() => stderr.includes('Batch (2 of 2): web2'));
      await until(async () => (await memoryOf(1).catch(() => undefined)) === '64MiB');
      await patch(0, '1GiB');
      await patch(1, '1GiB');
      await until(async () => (await memoryOf(0)) === '64MiB' && (await memoryOf(1)) === '64MiB');
      stderr = '';
      write('stack.yaml', stack('128MiB'));
      await until(async () => (await memoryOf(1)) === '128MiB');
      expect(await memoryOf(0), stderr).toBe('128MiB');
      expect(stderr).toMatch(/Batch \(1 of 2\): web1[^]*Batch \(2 of 2\): web2/);
      write('stack.yaml', 'kind: profil\n');
      await until(() => stderr.includes('the last good ones stay in force'));
    } finally {
      interrupt();
    }
    const end = await running;
    expect(end.code, end.stderr).toBe(0);
    write('stack.yaml', stack('128MiB'));
    expect((await withStack('plan', '--detailed-exitcode')).code).toBe(0);
  });

  test('A loop with --keep-going continues without an unreachable host, and exits with its code', async () => {
    writeHosts(nobody());
    write('stack.yaml', stack('64MiB'));
    const run = await withStack('run', '-y', '--canary', 'gone', '--keep-going', '--for', '4s', '--json');
    expect(run.code).toBe(7);
    expect([await memoryOf(0), await memoryOf(1)]).toEqual(['64MiB', '64MiB']);
    const lines = run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; host?: string });
    expect(lines.filter(({ type }) => type === 'apply_complete').map(({ host }) => host)).toEqual(['web1', 'web2']);
    expect((await withStack('run', '-y', '--batch', '0')).code).toBe(64);
    expect(readFileSync(join(dir, 'hosts.yaml'), 'utf8')).toContain('gone');
  });
});
