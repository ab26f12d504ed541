// A daemon for unprivileged containers only, over the wire: each way to a privileged container is refused, and nothing is left behind.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { privilegeProblems } from '../../../../server/api/container/unprivileged-only.ts';
import { runDaemonCommand } from '../../../../server/daemon/daemon-command.ts';
import { buildPrograms, plainEnv, type Programs } from '../../../support/cli/programs.ts';
import { startChild } from '../../../support/daemons/child-process.ts';
import {
  type Answer,
  call,
  createContainer,
  emptySource,
  makeDaemon,
  makeSeeded,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const privileged = { 'security.privileged': 'true' };
const refusal =
  /Privileged containers are not allowed: .*config\.security\.privileged must not be true: .*--unprivileged-only/;

/** The answer, or the operation, tells why. */
async function refused(daemon: TestDaemon, asked: Promise<Answer>, text: RegExp = refusal): Promise<void> {
  const { status, body, bytes } = await asked;
  if (status !== 202) {
    expect([status, bytes.toString()]).toEqual([403, expect.stringMatching(text)]);
    return;
  }
  const { err, status_code: code } = await daemon.wait(body.operation);
  expect([code, err]).toEqual([400, expect.stringMatching(text)]);
}

describe('a daemon for unprivileged containers only', () => {
  let before: TestDaemon;
  let daemon: TestDaemon;
  let backup: Buffer;
  beforeAll(async () => {
    before = await makeSeeded();
    await before.call('POST', '/1.0/profiles', { name: 'old', config: privileged });
    await createContainer(before, 'old', { config: privileged });
    await createContainer(before, 'back');
    await before.call('PATCH', '/1.0/containers/back', { config: privileged });
    await before.ok('POST', '/1.0/containers/back/snapshots', { name: 's' });
    await before.ok('POST', '/1.0/containers/old/backups', { name: 'b' });
    backup = (await before.call('GET', '/1.0/containers/old/backups/b/export')).bytes;
    await before.call('PATCH', '/1.0/containers/back', { config: { 'security.privileged': '' } });
    await before.stop();
    daemon = await makeDaemon({ dir: before.dir, unprivilegedOnly: true });
  });
  afterAll(() => (daemon ?? before)?.cleanUp());

  const create = (more: object): Promise<Answer> =>
    daemon.call('POST', '/1.0/containers', { name: 'new', source: emptySource, ...more });
  const names = async (): Promise<string[]> =>
    (await daemon.get('/1.0/containers?recursion=1')).map(({ name }: { name: string }) => name).toSorted();

  test('says so', async () => {
    expect((await daemon.get('/1.0')).environment.unprivileged_only).toBe(true);
  });

  const source = {
    type: 'migration',
    mode: 'pull',
    operation: 'https://127.0.0.1:1/1.0/operations/x',
    secrets: { control: 'c', fs: 'f' },
  };
  test.each([
    ['creation', { config: privileged }],
    ['creation with another word for true', { config: { 'security.privileged': 'Yes' } }],
    ['creation with a profile', { profiles: ['default', 'old'] }],
    ['a copy', { source: { type: 'copy', source: 'old' } }],
    ['a migration', { source, config: privileged, profiles: ['default'], devices: {} }],
  ] as const)('refuses %s', async (_, more) => {
    await refused(daemon, create(more));
    expect(await names()).toEqual(['back', 'old']);
  });

  test('refuses root of the host in raw.idmap, and no other id', async () => {
    await refused(daemon, create({ config: { 'raw.idmap': 'both 0 1000' } }), /config\.raw\.idmap must not map root/);
    await refused(daemon, create({ config: { 'raw.idmap': 'uid 5 5\ngid 0-9 0-9' } }), /gid 0-9 0-9.*does: the server/);
    expect(privilegeProblems({ 'raw.idmap': 'both 1000 0\nuid 10-20 0-10', 'security.privileged': 'false' })).toEqual(
      [],
    );
    expect(await names()).toEqual(['back', 'old']);
  });

  test('refuses an import, also where access to the host is allowed', async () => {
    const headers = {
      'x-svc-name': 'new',
      'x-svc-allow-host-access': 'true',
      'content-type': 'application/octet-stream',
    };
    await refused(daemon, daemon.call('POST', '/1.0/containers', backup, headers));
    expect(await names()).toEqual(['back', 'old']);
  });

  test('refuses changes that make a container privileged: its own, of its profiles, and a restore', async () => {
    const at = '/1.0/containers/back';
    await refused(daemon, daemon.call('PATCH', at, { config: privileged }));
    await refused(daemon, daemon.call('PATCH', at, { profiles: ['default', 'old'] }));
    await refused(daemon, daemon.call('PUT', at, { restore: 's' }));
    const profile = '/1.0/profiles/default';
    await refused(daemon, daemon.call('PATCH', profile, { config: privileged }));
    await refused(daemon, daemon.call('POST', '/1.0/profiles', { name: 'p', config: { 'security.privileged': '1' } }));
    expect((await daemon.get(at)).expanded_config).not.toHaveProperty(['security.privileged']);
    expect(await daemon.get('/1.0/profiles')).toEqual(['/1.0/profiles/default', '/1.0/profiles/old']);
    expect((await daemon.get(profile)).config).toEqual({});
  });

  test('does not start what was privileged before, and lets it be renamed, corrected and deleted', async () => {
    const started = await setState(daemon, 'old', 'start');
    expect(started.err).toMatch(refusal);
    expect((await daemon.get('/1.0/containers/old')).status).toBe('Stopped');
    await daemon.ok('POST', '/1.0/containers/old', { name: 'older' });
    const kept = { 'user.note': 'kept' };
    expect((await daemon.call('PATCH', '/1.0/containers/older', { config: kept })).status).toBeLessThan(300);
    const corrected = { config: { 'security.privileged': 'false' } };
    expect((await daemon.call('PATCH', '/1.0/containers/older', corrected)).status).toBeLessThan(300);
    expect((await daemon.get('/1.0/containers/older')).config).toMatchObject({ ...kept, ...corrected.config });
    await refused(daemon, daemon.call('PATCH', '/1.0/containers/older', { config: privileged }));
    await daemon.ok('DELETE', '/1.0/containers/older');
  });
});

describe('gantryd', () => {
  let programs: Programs;
  beforeAll(() => void (programs = buildPrograms()));

  test.each([
    ['the flag', ['--unprivileged-only'], {}],
    ['the variable of LXD', [], { LXD_UNPRIVILEGED_ONLY: 'true' }],
  ] as const)('is for unprivileged containers only with %s', async (_, flags, env) => {
    const dir = tempFolder('gtun-');
    const child = await startChild({ entry: programs.gantryd }, dir, 'sim', flags, { ...plainEnv(), ...env });
    onTestFinished(async () => {
      process.kill(child.pid, 'SIGTERM');
      await child.exited;
      rmSync(dir, { recursive: true, force: true });
    });
    const { metadata } = await call({ socketPath: join(dir, 'unix.socket') }, 'GET', '/1.0');
    expect(metadata.environment.unprivileged_only).toBe(true);
  });

  test('refuses a word in the variable that is neither true nor false', async () => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.stubEnv('LXD_UNPRIVILEGED_ONLY', 'ture');
    onTestFinished(() => {
      vi.unstubAllEnvs();
      said.mockRestore();
    });
    expect(await runDaemonCommand(['--state-dir', '/nonexistent'])).toBe(64);
    expect(said.mock.calls.join('')).toMatch(/the variable LXD_UNPRIVILEGED_ONLY must be true or false, is ture/);
  });
});
