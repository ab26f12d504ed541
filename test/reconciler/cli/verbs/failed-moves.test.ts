// gantry migrate-from-lxd between two simulated daemons after a container did not start on the target: what it wrote since arrives later.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import { twoDaemons, type Side, type TwoDaemons } from '../../../support/daemons/two-daemons.ts';

let two: TwoDaemons;
beforeAll(async () => {
  two = await twoDaemons();
});
afterAll(() => two?.cleanUp());

const socket = ({ daemon }: Side): string => `unix://${daemon.socketPath}`;
const move = (folder = 'move'): Promise<CliRun> =>
  cli([
    'migrate-from-lxd',
    '-y',
    '--grace',
    '1s',
    '--host',
    socket(two.b),
    '--lxd',
    socket(two.a),
    '--state-dir',
    join(two.b.daemon.dir, folder),
  ]);
const stored = ({ daemon }: Side, volume: string): string =>
  join(daemon.dir, 'storage-pools/default/custom', volume, 'file');
const statusOf = async ({ daemon }: Side, name: string): Promise<string> =>
  ((await daemon.get(`/1.0/containers/${name}`)) as { readonly status: string }).status;

/** Makes a volume, and running containers that mount it. */
async function makeUsers(volume: string, ...names: readonly string[]): Promise<void> {
  const { daemon } = two.a;
  await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: volume });
  const data = { type: 'disk', pool: 'default', source: volume, path: '/data' };
  for (const name of names) {
    await daemon.ok('POST', '/1.0/containers', { name, source: { type: 'none' }, devices: { data } });
    await daemon.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
  }
}
const failStart = (container: string): void =>
  void two.b.daemon.sim.faults.inject({ operation: 'start', container, error: 'no such device', times: 1 });

test('a container that did not start on the target runs on the source again, and the next run copies its volume again', async () => {
  await makeUsers('data', 'db');
  writeFileSync(stored(two.a, 'data'), 'first');
  failStart('db');

  const failed = await move();
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('container/db did not move')]);
  expect([await statusOf(two.a, 'db'), await statusOf(two.b, 'db')]).toEqual(['Running', 'Stopped']);
  writeFileSync(stored(two.a, 'data'), 'written in between');

  const moved = await move();
  expect([moved.code, moved.stderr]).toEqual([0, expect.any(String)]);
  expect(readFileSync(stored(two.b, 'data'), 'utf8')).toBe('written in between');
  expect([await statusOf(two.a, 'db'), await statusOf(two.b, 'db')]).toEqual(['Stopped', 'Running']);
});

test('a container stays stopped while another one that moved uses the copy of their volume, and the next run moves it', async () => {
  await makeUsers('shared', 'one', 'two');
  failStart('two');
  const failed = await move();
  const said = 'stays stopped, since container/one, which moved, uses the copy of storage_volume/default/shared';
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining(said)]);
  expect([await statusOf(two.b, 'one'), await statusOf(two.a, 'two')]).toEqual(['Running', 'Stopped']);
  writeFileSync(stored(two.b, 'shared'), 'written by one');

  expect(await move()).toMatchObject({ code: 0 });
  expect(await statusOf(two.b, 'two')).toBe('Running');
  expect(readFileSync(stored(two.b, 'shared'), 'utf8')).toBe('written by one');
});

test('a container that somebody started on the source stops the move when one that moved uses the copy of their volume', async () => {
  await makeUsers('parted', 'three', 'zero');
  failStart('zero');
  expect(await move()).toMatchObject({ code: 1 });
  await two.a.daemon.ok('PUT', '/1.0/containers/zero/state', { action: 'start' });
  writeFileSync(stored(two.a, 'parted'), 'written by zero');
  writeFileSync(stored(two.b, 'parted'), 'written by three');

  const refused = await move();
  const said =
    'it runs on the source, and container/three, which moved, uses the copy of storage_volume/default/parted';
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining(said)]);
  expect(await statusOf(two.a, 'zero')).toBe('Running');
  const texts = [two.a, two.b].map((side) => readFileSync(stored(side, 'parted'), 'utf8'));
  expect(texts).toEqual(['written by zero', 'written by three']);

  await two.a.daemon.ok('PUT', '/1.0/containers/zero/state', { action: 'stop', force: true });
  expect(await move()).toMatchObject({ code: 0 });
  expect(readFileSync(stored(two.b, 'parted'), 'utf8')).toBe('written by three');
});

test('a container that somebody started on the source after its volume was copied moves with what it wrote since', async () => {
  await makeUsers('alone', 'late');
  const { from, to } = { from: socket(two.a), to: socket(two.b) };
  const entries = {
    'storage_volume/default/alone': { stage: 'done' },
    'container/late': { stage: 'stopped', ran: true },
  };
  await two.b.daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'alone' });
  mkdirSync(join(two.b.daemon.dir, 'killed'));
  writeFileSync(join(two.b.daemon.dir, 'killed/progress.json'), JSON.stringify({ version: 1, from, to, entries }));
  writeFileSync(stored(two.a, 'alone'), 'written since');
  expect((await move('killed')).stdout).toContain('it runs again since storage_volume/default/alone was copied');
  expect(await statusOf(two.a, 'late')).toBe('Running');
  expect((await move('killed')).code).toBe(0);
  expect(readFileSync(stored(two.b, 'alone'), 'utf8')).toBe('written since');
});
