// Live migration between two simulated runtimes: a running container continues at the target, or at the source after a failure.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { copyContainer, moveContainer, type CopyOptions } from '../../../../../server/client/index.ts';
import { createContainer, statusOf } from '../../../../support/daemons/daemon.ts';
import { twoDaemons, volumeDir, type TwoDaemons } from '../../../../support/daemons/two-daemons.ts';
import { until } from '../../../../support/until.ts';

let two: TwoDaemons;
beforeAll(async () => {
  two = await twoDaemons();
});
afterAll(() => two.cleanUp());
afterEach(async () => {
  for (const { daemon } of [two.a, two.b]) daemon.sim.faults.clear();
  await limit('0');
});

const limit = (rate: string) =>
  two.a.daemon.call('PATCH', '/1.0/storage-pools/default', { config: { 'rsync.bwlimit': rate } });
let count = 0;
async function running(): Promise<string> {
  const name = `c${(count += 1)}`;
  await createContainer(two.a.daemon, name, { devices: { eth0: { type: 'nic', nictype: 'p2p' } } });
  writeFileSync(join(volumeDir(two.a, name), 'rootfs/file'), randomBytes(400_000));
  await two.a.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
  await two.a.daemon.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
  return name;
}
const copy = (name: string, options: CopyOptions = {}): Promise<void> =>
  copyContainer({ client: two.a.remote, name }, { client: two.b.remote, name }, options);

async function expectStillHere(name: string): Promise<void> {
  await until(async () => (await statusOf(two.a.daemon, name)) === 'Running');
  expect((await two.a.daemon.get(`/1.0/containers/${name}`)).stateful).toBe(false);
  expect((await two.b.daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  expect(existsSync(volumeDir(two.b, name))).toBe(false);
}

test.each(['pull', 'push', 'relay'] as const)('a running container moves and continues: %s', async (mode) => {
  const name = await running();
  const { config } = await two.a.daemon.get(`/1.0/containers/${name}`);
  await moveContainer({ client: two.a.remote, name }, { client: two.b.remote, name }, { mode });
  expect((await two.a.daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  const moved = await two.b.daemon.get(`/1.0/containers/${name}`);
  expect(moved).toMatchObject({ status: 'Running', stateful: false });
  expect(moved.config['volatile.eth0.hwaddr']).toBe(config['volatile.eth0.hwaddr']);
  expect(existsSync(join(volumeDir(two.b, name), 'state'))).toBe(false);
  expect(await two.b.daemon.get(`/1.0/containers/${name}/snapshots`)).toHaveLength(1);
});

test('the memory of a container with migration.incremental.memory is copied in rounds before it is frozen', async () => {
  const name = await running();
  await two.a.daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'migration.incremental.memory': 'true' } });
  const { checkpoints } = two.a.daemon.sim;
  if (checkpoints === undefined) throw new Error('the simulation makes checkpoints');
  const checkpoint = checkpoints.checkpoint.bind(checkpoints);
  let previous: string | undefined;
  checkpoints.checkpoint = async (container, options, signal) => {
    checkpoints.checkpoint = checkpoint;
    previous = options.previous;
    await checkpoint(container, options, signal);
  };
  await copy(name);
  expect(previous).toMatch(/state-round-1$/);
  expect(await statusOf(two.b.daemon, name)).toBe('Running');
  for (const side of [two.a, two.b]) {
    expect(readdirSync(volumeDir(side, name)).filter((entry) => entry.startsWith('state'))).toEqual([]);
  }
});

test('the memory rounds are removed after a failed migration', async () => {
  const name = await running();
  await two.a.daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'migration.incremental.memory': 'true' } });
  two.b.daemon.sim.faults.inject({ operation: 'restore', container: name, error: 'a process id is taken', times: 1 });
  await expect(copy(name)).rejects.toThrow(/process id is taken/);
  await expectStillHere(name);
  expect(readdirSync(volumeDir(two.a, name)).filter((entry) => entry.startsWith('state'))).toEqual([]);
});

test('a live copy leaves the original stopped, without the checkpoint that the target restored', async () => {
  const name = await running();
  await copy(name);
  expect(await statusOf(two.a.daemon, name)).toBe('Stopped');
  expect((await two.a.daemon.get(`/1.0/containers/${name}`)).stateful).toBe(false);
  expect(existsSync(join(volumeDir(two.a, name), 'state'))).toBe(false);
  expect(await statusOf(two.b.daemon, name)).toBe('Running');
});

test('a live migration is refused with the reason where one side cannot checkpoint', async () => {
  const name = await running();
  two.b.daemon.sim.faults.refuseCheckpoints('CRIU is not installed');
  await expect(copy(name)).rejects.toThrow(/CRIU is not installed/);
  await expectStillHere(name);
  two.b.daemon.sim.faults.clear();
  two.a.daemon.sim.faults.refuseCheckpoints('the kernel has a strange vdso');
  await expect(copy(name)).rejects.toThrow(/strange vdso.*live: false/);
  await expectStillHere(name);
  const { status } = await two.a.daemon.call('POST', `/1.0/containers/${name}`, { migration: true });
  expect(status).toBe(400);
  await copy(name, { live: false });
  expect(await statusOf(two.b.daemon, name)).toBe('Stopped');
});

test('a checkpoint that cannot be stored or restored leaves the container at the source', async () => {
  const name = await running();
  two.a.daemon.sim.faults.inject({
    operation: 'checkpoint',
    container: name,
    error: 'a socket is in the way',
    times: 1,
  });
  await expect(copy(name)).rejects.toThrow(/socket is in the way|Cannot checkpoint/);
  await expectStillHere(name);
  two.b.daemon.sim.faults.inject({ operation: 'restore', container: name, error: 'a process id is taken', times: 1 });
  await expect(copy(name)).rejects.toThrow(/process id is taken/);
  await expectStillHere(name);
});

/** Writes of the guest after the transfer of its files are transferred while it is frozen. */
function writeBeforeCheckpoint(name: string, bytes: number): void {
  const { checkpoints } = two.a.daemon.sim;
  if (checkpoints === undefined) throw new Error('the simulation makes checkpoints');
  const checkpoint = checkpoints.checkpoint.bind(checkpoints);
  checkpoints.checkpoint = async (...all) => {
    checkpoints.checkpoint = checkpoint;
    writeFileSync(join(volumeDir(two.a, name), 'rootfs/late'), randomBytes(bytes));
    await checkpoint(...all);
  };
}

test('files written during the transfer arrive too', async () => {
  const name = await running();
  writeBeforeCheckpoint(name, 10_000);
  await copy(name);
  expect(statSync(join(volumeDir(two.b, name), 'rootfs/late')).size).toBe(10_000);
});

test.each(['source', 'target'] as const)(
  'cancelling the %s while the container is frozen makes it continue at the source',
  async (side) => {
    const name = await running();
    writeBeforeCheckpoint(name, 3_000_000);
    await limit('300kB');
    const copied = copy(name, { containerOnly: true });
    copied.catch(() => {});
    await until(async () => (await two.a.daemon.get(`/1.0/containers/${name}`)).stateful === true);
    const { daemon } = side === 'source' ? two.a : two.b;
    for (const url of await daemon.get('/1.0/operations')) await daemon.call('DELETE', url as string);
    await expect(copied).rejects.toThrow(/cancelled/i);
    await expectStillHere(name);
  },
);

test('ephemeral and frozen containers are refused: they have to be stopped first', async () => {
  await createContainer(two.a.daemon, 'brief', { ephemeral: true });
  await two.a.daemon.ok('PUT', '/1.0/containers/brief/state', { action: 'start' });
  await expect(copy('brief')).rejects.toThrow('ephemeral');
  const name = await running();
  await two.a.daemon.ok('PUT', `/1.0/containers/${name}/state`, { action: 'freeze' });
  await expect(copy(name)).rejects.toThrow('frozen');
});

test('a stateful snapshot keeps its checkpoint on the way, and continues at the target', async () => {
  const name = await running();
  await two.a.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 'live', stateful: true });
  await two.a.daemon.ok('PUT', `/1.0/containers/${name}/state`, { action: 'stop', force: true });
  await copy(name);
  expect((await two.b.daemon.get(`/1.0/containers/${name}/snapshots/live`)).stateful).toBe(true);
  await two.b.daemon.ok('PUT', `/1.0/containers/${name}`, { restore: 'live', stateful: true });
  expect(await statusOf(two.b.daemon, name)).toBe('Running');
});
