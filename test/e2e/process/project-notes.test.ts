// `gantry apply` with a certificate that is restricted to a project, over TLS: what a set notes about itself is in that project.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { repository } from '../../support/cli/programs.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { makeClient } from '../../support/daemons/tls.ts';

const folder = new StackFolder();
const file = join(folder.dir, 'stack.yaml');
let daemon: TestDaemon;
const profile = (value: string): string => `kind: profile\nname: web\nconfig: { user.a: ${value} }\n`;
const image = 'kind: image\nname: base\nfile: image.tar.gz\naliases: [base]\n';
const notes = '/1.0/profiles/gantry-notes?project=red';

beforeAll(async () => {
  daemon = await makeDaemon({ https: '127.0.0.1:0' });
  await makeProject(daemon, 'red');
  await makeProject(daemon, 'bare', { 'features.profiles': 'false' });
  const client = await makeClient();
  writeFileSync(join(folder.dir, 'red.crt'), client.certPem);
  writeFileSync(join(folder.dir, 'red.key'), client.keyPem, { mode: 0o600 });
  const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  const restriction = { restricted: true, projects: ['red', 'bare'] };
  const added = await daemon.call('POST', '/1.0/certificates', {
    type: 'client',
    name: 'red',
    certificate,
    ...restriction,
  });
  expect(added.status).toBe(200);
});
afterAll(async () => {
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
      '--host',
      `https://${daemon.daemon.httpsAddress() ?? ''}`,
      '--server-cert',
      join(daemon.dir, 'server.crt'),
      '--client-cert',
      join(folder.dir, 'red.crt'),
      '--client-key',
      join(folder.dir, 'red.key'),
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

test('A restricted client applies, sees drift and history, rolls back and destroys', { timeout: 120_000 }, async () => {
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

test('A lock in the project keeps the team and the administrator out', { timeout: 60_000 }, async () => {
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
