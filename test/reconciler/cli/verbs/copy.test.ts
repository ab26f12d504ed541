// gantry copy and gantry move against two simulated daemons: on one, from one to the other, and error messages.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import { createContainer } from '../../../support/daemons/daemon.ts';
import { twoDaemons, volumeDir, type Side, type TwoDaemons } from '../../../support/daemons/two-daemons.ts';

let two: TwoDaemons;
let files: string;
beforeAll(async () => {
  two = await twoDaemons();
  files = two.a.daemon.dir;
  writeFileSync(join(files, 'client.pem'), two.certificate.certPem);
  writeFileSync(join(files, 'client.key'), two.certificate.keyPem);
});
afterAll(() => two.cleanUp());

const host = ({ daemon }: Side): string => `unix://${daemon.socketPath}`;
const here = (...argv: string[]): Promise<CliRun> => cli([...argv, '--host', host(two.a)]);
/** From one to the other, both over TLS. */
const there = async (...argv: string[]): Promise<CliRun> => {
  const pin = async (side: Side): Promise<string> =>
    (await side.daemon.get('/1.0')).environment.certificate_fingerprint as string;
  return cli([
    ...argv,
    '--host',
    `https://${two.a.address}`,
    '--server-cert',
    await pin(two.a),
    '--target-host',
    `https://${two.b.address}`,
    '--target-server-cert',
    await pin(two.b),
    '--client-cert',
    join(files, 'client.pem'),
    '--client-key',
    join(files, 'client.key'),
  ]);
};
const names = async ({ daemon }: Side): Promise<string[]> =>
  (await daemon.get('/1.0/containers?recursion=1')).map((one: { name: string }) => one.name);

test('A container is copied on one server, the copy is refreshed, and moved to another name and pool', async () => {
  await createContainer(two.a.daemon, 'web');
  expect(await here('copy', 'web', 'copy')).toMatchObject({ code: 0 });
  writeFileSync(join(volumeDir(two.a, 'web'), 'rootfs/new'), 'x');
  expect((await here('copy', 'web', 'copy')).code).toBe(1);
  expect(await here('copy', 'web', 'copy', '--refresh')).toMatchObject({ code: 0 });
  expect(existsSync(join(volumeDir(two.a, 'copy'), 'rootfs/new'))).toBe(true);
  expect(await here('mv', 'copy', 'other')).toMatchObject({ code: 0 });
  await two.a.daemon.call('POST', '/1.0/storage-pools', { name: 'second', driver: 'dir' });
  expect(await here('move', 'other', 'other', '--storage', 'second')).toMatchObject({ code: 0 });
  expect(existsSync(join(two.a.daemon.dir, 'storage-pools/second/containers/other/rootfs/new'))).toBe(true);
  expect(await names(two.a)).toEqual(['other', 'web']);
});

test.each(['pull', 'push', 'relay'])('A container is copied and moved to another server: %s', async (mode) => {
  const name = `away-${mode}`;
  await createContainer(two.a.daemon, name);
  writeFileSync(join(volumeDir(two.a, name), 'rootfs/file'), 'x');
  await two.a.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
  const ran = await there('copy', `${name}/s`, `${name}-s`, '--mode', mode);
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(new RegExp(`${name}/s: .*B/s`)) });
  // The target reports the same bytes, under the name of the copy.
  expect(ran.stderr).not.toContain(`${name}-s: `);
  expect(await there('move', name, '--mode', mode)).toMatchObject({ code: 0 });
  expect(await names(two.a)).not.toContain(name);
  expect(existsSync(join(volumeDir(two.b, name), 'rootfs/file'))).toBe(true);
});

test('Between two sockets the command relays by itself', async () => {
  await createContainer(two.a.daemon, 'local');
  expect(await here('copy', 'local', '--target-host', host(two.b))).toMatchObject({ code: 0 });
  expect(await names(two.b)).toContain('local');
});

test('A wrong command is refused with the reason', async () => {
  await createContainer(two.a.daemon, 'stays');
  await two.a.daemon.ok('PUT', '/1.0/containers/stays/state', { action: 'start' });
  for (const [argv, code, text] of [
    [['copy', 'stays'], 64, /another name, or --target-host/],
    [['copy', 'stays', 'x', '--mode', 'fly'], 64, /not one of pull, push, relay/],
    [['copy', 'stays', 'x', '--target-server-cert', 'ab'], 64, /need --target-host/],
    [['copy', 'stays', 'a/b'], 64, /cannot be the name/],
    [['copy', 'nobody', 'x'], 1, /container\/nobody does not exist: gantry list/],
  ] as const) {
    const ran = await here(...argv);
    expect([ran.code, ran.stderr], argv.join(' ')).toEqual([code, expect.stringMatching(text)]);
  }
  two.a.daemon.sim.faults.refuseCheckpoints('CRIU is not installed');
  const live = await there('copy', 'stays', 'live');
  expect([live.code, live.stderr]).toEqual([
    1,
    expect.stringMatching(/CRIU is not installed.*; --no-live copies its files/),
  ]);
  const moved = await there('move', 'stays');
  expect([moved.code, moved.stderr]).toEqual([1, expect.stringMatching(/CRIU is not installed.*; --no-live moves it/)]);
  expect(await there('copy', 'stays', 'files', '--no-live')).toMatchObject({ code: 0 });
  expect(await names(two.b)).toContain('files');
});

test('A running container moves with --no-live: it is stopped here and starts there', async () => {
  await createContainer(two.a.daemon, 'busy');
  await two.a.daemon.ok('PUT', '/1.0/containers/busy/state', { action: 'start' });
  writeFileSync(join(volumeDir(two.a, 'busy'), 'rootfs/file'), 'x');
  await two.a.daemon.ok('POST', '/1.0/containers/busy/snapshots', { name: 's' });
  const ran = await there('move', 'busy', '--no-live');
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('busy: stopping it') });
  expect(await names(two.a)).not.toContain('busy');
  expect((await two.b.daemon.get('/1.0/containers/busy')).status).toBe('Running');
  expect(existsSync(join(volumeDir(two.b, 'busy'), 'rootfs/file'))).toBe(true);
  expect(await two.b.daemon.get('/1.0/containers/busy/snapshots')).toEqual(['/1.0/containers/busy/snapshots/s']);
});

test('A move with --no-live that fails leaves the original running, and no copy', async () => {
  await createContainer(two.a.daemon, 'back');
  await two.a.daemon.ok('PUT', '/1.0/containers/back/state', { action: 'start' });
  two.b.daemon.sim.faults.inject({ operation: 'start', container: 'back', error: 'no space', times: 1 });
  const ran = await there('move', 'back', '--no-live');
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('no space')]);
  expect((await two.a.daemon.get('/1.0/containers/back')).status).toBe('Running');
  expect(await names(two.b)).not.toContain('back');
  await createContainer(two.a.daemon, 'brief', { ephemeral: true });
  await two.a.daemon.ok('PUT', '/1.0/containers/brief/state', { action: 'start' });
  const refused = await there('move', 'brief', '--no-live');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('the stop of a move would delete it')]);
  expect((await two.a.daemon.get('/1.0/containers/brief')).status).toBe('Running');
});

test('A copy belongs to no set, here and on another server, and a moved container keeps its record', async () => {
  const record = { 'user.gantry.own.default': '{"v":1,"k":{},"w":1}', 'user.note': 'stays' };
  await createContainer(two.a.daemon, 'owned', { config: record });
  const noted = async ({ daemon }: Side, name: string): Promise<Record<string, string>> => {
    const { config } = (await daemon.get(`/1.0/containers/${name}`)) as { config: Record<string, string> };
    return Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('user.')));
  };
  expect(await here('copy', 'owned', 'unowned')).toMatchObject({ code: 0 });
  expect(await noted(two.a, 'unowned')).toEqual({ 'user.note': 'stays' });
  expect(await there('copy', 'owned', 'far')).toMatchObject({ code: 0 });
  expect(await noted(two.b, 'far')).toEqual({ 'user.note': 'stays' });
  expect(await there('move', 'owned', 'moved')).toMatchObject({ code: 0 });
  expect(await noted(two.b, 'moved')).toEqual(record);
});
