// `gantry backup` against the real daemon on the simulation: a round trip through a file, and error messages.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../../support/cli/io.ts';
import { createContainer } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const daemon = await seededDaemon();
const here = tempFolder('gtyb-');
let count = 0;
const backup = (args: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli(['backup', ...args], { ...setting, env: { GANTRY_HOST: `unix://${daemon.socketPath}` } });
const ok = async (args: readonly string[], setting: CliSetting = {}): Promise<string> => {
  const ran = await backup(args, setting);
  expect(ran.code, ran.stderr).toBe(0);
  return ran.stdout.trim();
};
async function fresh(): Promise<string> {
  const name = `bk${(count += 1)}`;
  await createContainer(daemon, name);
  return name;
}

test('A container is restored from its backup file by create, list, export, delete and import', async () => {
  const c = await fresh();
  expect(await ok(['create', c])).toBe('backup0');
  expect(
    await ok(['create', c, 'mine', '--container-only', '--compression', 'zstd', '--expires', '2099-01-31T12:00:00Z']),
  ).toBe('mine');
  expect(await ok(['list', c])).toMatch(
    /NAME .*\n.*backup0 .* yes +no +[0-9].*\n.*mine .*2099-01-31T12:00:00Z +no +no +[0-9]/,
  );
  expect(JSON.parse((await ok(['list', c, '--json'])).split('\n')[0] ?? '')).toMatchObject({ name: 'backup0' });
  const file = join(here, `${c}.backup`);
  expect(await ok(['export', c, 'mine', file])).toBe(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await ok(['delete', c, 'mine', 'backup0']);
  expect(await daemon.get(`/1.0/containers/${c}/backups`)).toEqual([]);
  expect(await ok(['import', file, `${c}-new`])).toBe(`${c}-new`);
  await daemon.ok('DELETE', `/1.0/containers/${c}`);
  expect(await ok(['import', file])).toBe(c);
  expect(
    await ok(['import', '-', `${c}-3`, '--storage', 'default'], { piped: readFileSync(file) as unknown as string }),
  ).toBe(`${c}-3`);
});

test('A volume is restored from its backup file by the same verbs, called POOL/NAME', async () => {
  await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'vol', config: { 'user.a': 'b' } });
  const v = 'default/vol';
  expect(await ok(['create', v])).toBe('backup0');
  expect(await ok(['create', v, 'mine', '--container-only'])).toBe('mine');
  expect(await ok(['list', v])).toMatch(/NAME .*\n.*backup0 .* yes +no +[0-9].*\n.*mine .* no +no +[0-9]/);
  const file = join(here, 'vol.backup');
  expect(await ok(['export', v, 'backup0', file])).toBe(file);
  expect(await ok(['import', file, 'default/new'])).toBe('default/new');
  expect((await daemon.get('/1.0/storage-pools/default/volumes/custom/new')).config).toEqual({ 'user.a': 'b' });
  await ok(['delete', v, 'mine', 'backup0']);
  await daemon.call('DELETE', '/1.0/storage-pools/default/volumes/custom/vol');
  expect(await ok(['import', file, 'default/'])).toBe(v);
  const twice = await backup(['import', file, 'default/x', '--storage', 'default']);
  expect([twice.code, twice.stderr]).toEqual([64, expect.stringMatching(/leave --storage out/)]);
  const wrong = await backup(['import', file]);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/of a storage volume.*POOL\//s)]);
});

test('A backup with access to the host is refused with the flag that allows it, and accepted with that flag', async () => {
  const c = await fresh();
  await daemon.call('PATCH', `/1.0/containers/${c}`, { config: { 'security.privileged': 'true' } });
  const file = join(here, `${c}.backup`);
  await ok(['create', c, 'mine']);
  await ok(['export', c, 'mine', file]);
  const refused = await backup(['import', file, `${c}-new`]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/the key security\.privileged[\s\S]*--allow-host-access/);
  expect(await ok(['import', file, `${c}-new`, '--allow-host-access'])).toBe(`${c}-new`);
});

test('A failure gives the reason and the exit code, and leaves no partial file', async () => {
  const c = await fresh();
  const refused = async (args: readonly string[], words: RegExp): Promise<void> => {
    const ran = await backup(args);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(words)]);
  };
  const file = join(here, `${c}-not-made`);
  await refused(['export', c, 'none', file], /backup .*none was not found/);
  expect(existsSync(file)).toBe(false);
  await refused(['create', 'no-such'], /container no-such was not found/);
  await refused(['import', join(here, 'no-file')], /Cannot read/);
  await refused(['import', here], /is a directory: name the file of a backup/);
  writeFileSync(file, 'hello');
  await refused(['import', file], /unknown packing/);
  await ok(['create', c, 'b']);
  await refused(['export', c, 'b', file], /annot write .*: it already exists/);
  expect(readFileSync(file, 'utf8')).toBe('hello');
  await refused(['delete', c, 'other'], /was not found/);
});
