// gantry migrate-from-lxd between two simulated daemons after a container did not start on the target: what it wrote since arrives later.
import { readFileSync, writeFileSync } from 'node:fs';
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
const move = (): Promise<CliRun> =>
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
    join(two.b.daemon.dir, 'move'),
  ]);
const stored = ({ daemon }: Side, volume: string): string =>
  join(daemon.dir, 'storage-pools/default/custom', volume, 'file');
const statusOf = async ({ daemon }: Side, name: string): Promise<string> =>
  ((await daemon.get(`/1.0/containers/${name}`)) as { readonly status: string }).status;

test('a container that did not start on the target runs on the source again, and the next run copies its volume again', async () => {
  const { daemon } = two.a;
  await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'data' });
  const data = { type: 'disk', pool: 'default', source: 'data', path: '/data' };
  await daemon.ok('POST', '/1.0/containers', { name: 'db', source: { type: 'none' }, devices: { data } });
  await daemon.ok('PUT', '/1.0/containers/db/state', { action: 'start' });
  writeFileSync(stored(two.a, 'data'), 'first');
  two.b.daemon.sim.faults.inject({ operation: 'start', container: 'db', error: 'no such device', times: 1 });

  const failed = await move();
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('container/db did not move')]);
  expect([await statusOf(two.a, 'db'), await statusOf(two.b, 'db')]).toEqual(['Running', 'Stopped']);
  writeFileSync(stored(two.a, 'data'), 'written in between');

  const moved = await move();
  expect([moved.code, moved.stderr]).toEqual([0, expect.any(String)]);
  expect(readFileSync(stored(two.b, 'data'), 'utf8')).toBe('written in between');
  expect([await statusOf(two.a, 'db'), await statusOf(two.b, 'db')]).toEqual(['Stopped', 'Running']);
});
