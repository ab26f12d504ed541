// `gantry apply` over TLS with a certificate that is restricted to a project: the notes of its sets are in that project.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { repository } from '../../support/cli/programs.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { makeTenant, type Tenant } from '../../support/cli/tenant.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeProject } from '../../support/daemons/projects.ts';

const folder = new StackFolder();
const file = join(folder.dir, 'stack.yaml');
let daemon: TestDaemon;
let tenant: Tenant;
const profile = (value: string): string => `kind: profile\nname: web\nconfig: { user.a: ${value} }\n`;
const image = 'kind: image\nname: base\nfile: image.tar.gz\naliases: [base]\n';
const notes = '/1.0/profiles/gantry-notes?project=red';

beforeAll(async () => {
  daemon = await makeDaemon({ https: '127.0.0.1:0' });
  await makeProject(daemon, 'red');
  await makeProject(daemon, 'bare', { 'features.profiles': 'false' });
  tenant = await makeTenant(daemon, join(daemon.dir, 'server.crt'), ['red', 'bare']);
});
afterAll(async () => {
  tenant.remove();
  await daemon.cleanUp();
  folder.remove();
});

const env = { GANTRY_DAEMON_LIBRARY: join(repository, 'server', 'daemon', 'embedded.ts') };
const stack = (...parts: readonly string[]): string => {
  writeFileSync(file, parts.join('---\n'));
  return file;
};
const team = (...argv: readonly string[]): Promise<CliRun> =>
  cli(
    [
      ...argv,
      ...tenant.flags(daemon.daemon.httpsAddress() ?? ''),
      ...(argv.includes('--project') ? [] : ['--project', 'red']),
    ],
    { env },
  );
const admin = (...argv: readonly string[]): Promise<CliRun> =>
  cli([...argv, '--host', `unix://${daemon.socketPath}`, '--project', 'red']);
const done = (run: CliRun): string => {
  expect(run.code, run.stdout + run.stderr).toBe(0);
  return run.stdout;
};
const userA = async (): Promise<unknown> =>
  ((await daemon.call('GET', '/1.0/profiles/web?project=red')).body.metadata as { config: Record<string, string> })
    .config['user.a'];
const hasNotes = async (): Promise<boolean> => (await daemon.call('GET', notes)).status === 200;

test('A restricted client applies, sees drift and history, rolls back and destroys', async () => {
  done(await team('apply', '-y', '-f', stack(profile('one'), image)));
  expect(await hasNotes()).toBe(true);
  expect((await daemon.call('GET', '/1.0')).body.metadata).not.toHaveProperty([
    'config',
    'user.gantry.set.default@red',
  ]);
  expect(done(await team('plan', '--detailed-exitcode', '-f', file))).toContain('No changes');
  expect(done(await team('get', 'profile', '-o', 'name'))).toBe('default\nweb\n');
  expect(done(await team('export'))).not.toContain('gantry-notes');

  await daemon.call('PATCH', '/1.0/profiles/web?project=red', { config: { 'user.a': 'by hand' } });
  const drift = await team('drift', '-f', file);
  expect([drift.code, drift.stdout]).toEqual([2, expect.stringContaining('config.user.a')]);
  done(await team('apply', '-y', '-f', stack(profile('two'), image)));
  expect(done(await team('history'))).toMatch(/2 .*\n.*1 /);
  done(await team('rollback', '-y', '1'));
  expect(await userA()).toBe('one');

  const foreign = await admin('rollback', '-y', '2');
  expect([foreign.code, foreign.stderr]).toEqual([
    1,
    expect.stringContaining('were written by clients of its project'),
  ]);
  expect(await userA()).toBe('one');
  expect(done(await admin('plan', '--detailed-exitcode', '-f', stack(profile('one'), image)))).toContain('No changes');
  done(await admin('apply', '-y', '-f', stack(profile('three'), image)));
  expect(done(await team('plan', '--detailed-exitcode', '-f', file))).toContain('No changes');

  done(await team('apply', '--dry-run=server', '-f', stack(profile('four'), image)));
  expect(await userA()).toBe('three');
  done(await team('destroy', '-y', '-f', file));
  expect(await hasNotes()).toBe(false);
});

test('A lock in the project keeps the team and the administrator out', async () => {
  done(await team('lock'));
  stack(profile('one'));
  expect((await team('apply', '-y', '-f', file)).code).toBe(5);
  expect((await admin('apply', '-y', '-f', file)).code).toBe(5);
  done(await team('force-unlock', '-y'));
  const both = await Promise.all([team('apply', '-y', '-f', file), team('apply', '-y', '-f', file)]);
  expect(Math.min(...both.map(({ code }) => code))).toBe(0);
  for (const { code } of both) expect([0, 5]).toContain(code);
  done(await team('plan', '--detailed-exitcode', '-f', file));
  done(await team('destroy', '-y', '-f', file));
  expect(await hasNotes()).toBe(false);
});

test('A project without profiles of its own is refused with what an administrator must do', async () => {
  stack(image);
  const run = await team('apply', '-y', '-f', file, '--project', 'bare');
  expect(run.code).not.toBe(0);
  expect(run.stderr).toContain('ask an administrator for a project with features.profiles: true');
});

test('The name of the profile with notes is reserved', async () => {
  const run = await team('plan', '-f', stack('kind: profile\nname: gantry-notes\n'));
  expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('choose another name')]);
});

test('An administrator locks the set for the team as well, and either of them unlocks it for both', async () => {
  stack(profile('one'));
  done(await admin('lock', '--reason', 'moving'));
  expect((await team('apply', '-y', '-f', file)).stderr).toContain('moving');
  done(await admin('force-unlock', '-y'));
  expect(await hasNotes()).toBe(false);
  done(await team('lock'));
  expect((await admin('lock')).code).toBe(5);
  done(await admin('force-unlock', '-y'));
  const both = await Promise.all([team('apply', '-y', '-f', file), admin('apply', '-y', '-f', file)]);
  for (const { code, stderr } of both) expect([0, 5], stderr).toContain(code);
  expect(Math.min(...both.map(({ code }) => code))).toBe(0);
  expect(await userA()).toBe('one');
  expect((await daemon.call('GET', notes)).body.metadata ?? {}).not.toHaveProperty([
    'config',
    'user.gantry.lock.default@red',
  ]);
});

test('gantry deletes a project that only contains notes, but not while one of its sets is locked', async () => {
  const whole = join(folder.dir, 'project.yaml');
  writeFileSync(whole, 'kind: project\nname: blue\n');
  const lead = (...argv: readonly string[]): Promise<CliRun> =>
    cli([...argv, '--host', `unix://${daemon.socketPath}`, '-f', whole]);
  done(await lead('apply', '-y'));
  const put = async (lock: object): Promise<void> => {
    const config = { 'user.gantry.set.a@blue': 'x', 'user.gantry.lock.a@blue': JSON.stringify(lock) };
    const made = await daemon.call('POST', '/1.0/profiles?project=blue', { name: 'gantry-notes', config });
    expect(made.status).toBe(200);
  };
  await put({ id: 'b', who: 'ann@laptop', expires: new Date(Date.now() + 60_000).toISOString() });
  const locked = await lead('destroy', '-y');
  expect([locked.code, locked.stderr]).toEqual([1, expect.stringContaining('the set a@blue is locked by ann@laptop')]);
  expect((await daemon.call('DELETE', '/1.0/profiles/gantry-notes?project=blue')).status).toBe(202);
  await put({ id: 'b', who: 'ann@laptop', expires: '2001-01-01T00:00:00Z' });
  done(await lead('destroy', '-y'));
  expect((await daemon.call('GET', '/1.0/projects/blue')).status).toBe(404);
  expect(done(await lead('plan', '--destroy', '--detailed-exitcode'))).toContain('Nothing to destroy');
});
