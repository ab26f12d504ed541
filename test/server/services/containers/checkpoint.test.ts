// Checkpoints over the API on simulated containers: stateful stops, starts and snapshots, when a checkpoint is removed, and refusals.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createContainer, type Json, lifecycleOf, setState, statusOf } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();
let count = 0;
afterEach(() => daemon.sim.faults.clear());

const path = (name: string): string => `/1.0/containers/${name}`;
const home = (name: string): string => join(daemon.dir, 'storage-pools/default/containers', name);
const files = (name: string): string[] => readdirSync(home(name)).toSorted();
const get = (name: string): Promise<Json> => daemon.get(path(name));
/** Counts on from the start of a container and across checkpoints. */
const age = async (name: string): Promise<number> => (await daemon.get(`${path(name)}/state`)).cpu.usage as number;

async function running(more: object = {}): Promise<string> {
  count += 1;
  const name = `run${count}`;
  await createContainer(daemon, name, more);
  expect((await setState(daemon, name, 'start')).err).toBe('');
  return name;
}

/** Larger than the count of any container that starts afresh during a test. */
async function aged(name: string): Promise<number> {
  const run = daemon.sim.runOf(name);
  const dir = join(daemon.dir, 'aged');
  mkdirSync(dir, { recursive: true });
  await daemon.sim.stop(name, { force: true }, new AbortController().signal);
  writeFileSync(join(dir, 'sim-state.json'), JSON.stringify({ name, ageMs: 1_000_000_000 }));
  await daemon.sim.checkpoints?.restore(run, { dir }, new AbortController().signal);
  return age(name);
}

describe('a stateful stop', () => {
  test('makes a checkpoint next to the files; a stateful start consumes it', async () => {
    const name = await running();
    const events = await daemon.listen('lifecycle');
    const before = await age(name);
    expect((await setState(daemon, name, 'stop', { stateful: true })).err).toBe('');
    expect(await get(name)).toMatchObject({
      stateful: true,
      status: 'Stopped',
      config: { 'volatile.last_state.power': 'STOPPED' },
    });
    expect(files(name)).toContain('state');
    expect((await setState(daemon, name, 'start', { stateful: true })).err).toBe('');
    expect(await get(name)).toMatchObject({
      stateful: false,
      status: 'Running',
      config: { 'volatile.last_state.power': 'RUNNING' },
    });
    expect(files(name)).not.toContain('state');
    expect(await age(name)).toBeGreaterThanOrEqual(before);
    await daemon.ok('PUT', `${path(name)}/state`, { action: 'freeze' });
    await events.next((event) => lifecycleOf(event).action === 'container-paused');
    const mine = events.events.filter((event) => lifecycleOf(event).source === path(name));
    expect(mine.map((event) => lifecycleOf(event).action)).toEqual(['container-stopped', 'container-paused']);
    events.close();
  });

  test('a stateful stop of a frozen container thaws it first', async () => {
    const name = await running();
    await daemon.ok('PUT', `${path(name)}/state`, { action: 'freeze' });
    expect((await setState(daemon, name, 'stop', { stateful: true })).err).toBe('');
    expect((await setState(daemon, name, 'start', { stateful: true })).err).toBe('');
    expect(await statusOf(daemon, name)).toBe('Running');
  });

  test('fails without harm when the tool fails, with its reason, and the output of the tool is a log', async () => {
    const name = await running();
    daemon.sim.faults.inject({
      operation: 'checkpoint',
      container: name,
      error: 'ENOSPC: no room for pages',
      times: 1,
    });
    const failed = await setState(daemon, name, 'stop', { stateful: true });
    expect(failed.status_code).toBe(400);
    expect(failed.err).toContain('no room for pages');
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Running' });
    expect(files(name).filter((file) => file.startsWith('state'))).toEqual([]);
    const logs = (await daemon.get(`${path(name)}/logs`)) as string[];
    expect(logs.filter((log) => /\/logs\/snapshot_dump_/.test(log))).toHaveLength(1);
  });

  test('where checkpoints are impossible it is accepted, fails with the reason and changes nothing', async () => {
    const name = await running();
    daemon.sim.faults.refuseCheckpoints('CRIU does not work on this host: vdso: Unexpected bounds');
    const failed = await setState(daemon, name, 'stop', { stateful: true });
    expect([failed.status_code, failed.err]).toEqual([400, expect.stringContaining('vdso: Unexpected bounds')]);
    expect(await statusOf(daemon, name)).toBe('Running');
    const snapshot = await daemon.run('POST', `${path(name)}/snapshots`, { stateful: true });
    expect([snapshot.status_code, snapshot.err]).toEqual([400, expect.stringContaining('vdso: Unexpected bounds')]);
    expect(await daemon.get(`${path(name)}/snapshots`)).toEqual([]);
  });

  test('a stateful stop of a stopped container, or of an ephemeral one, fails with the reason', async () => {
    const name = await running();
    await setState(daemon, name, 'stop', { force: true });
    expect((await setState(daemon, name, 'stop', { stateful: true })).err).toContain('already stopped');
    const ephemeral = await running({ ephemeral: true });
    expect((await setState(daemon, ephemeral, 'stop', { stateful: true })).err).toContain('ephemeral');
    expect(await statusOf(daemon, ephemeral)).toBe('Running');
  });
});

describe('a checkpoint', () => {
  const stored = async (): Promise<string> => {
    const name = await running();
    expect((await setState(daemon, name, 'stop', { stateful: true })).err).toBe('');
    return name;
  };

  test('is discarded by a start without it, with the flag', async () => {
    const name = await stored();
    expect((await setState(daemon, name, 'start')).err).toBe('');
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Running' });
    expect(files(name)).not.toContain('state');
  });

  test('a checkpoint that is missing cannot be restored', async () => {
    const name = await running();
    await setState(daemon, name, 'stop', { force: true });
    const failed = await setState(daemon, name, 'start', { stateful: true });
    expect([failed.status_code, failed.err]).toEqual([400, expect.stringContaining('no checkpoint')]);
    expect(await statusOf(daemon, name)).toBe('Stopped');
  });

  test('survives a start that fails to restore it, and a restart of the daemon', async () => {
    const name = await stored();
    daemon.sim.faults.inject({ operation: 'restore', container: name, error: 'a process id is taken', times: 1 });
    const failed = await setState(daemon, name, 'start', { stateful: true });
    expect([failed.status_code, failed.err]).toEqual([400, expect.stringContaining('a process id is taken')]);
    expect(await get(name)).toMatchObject({ stateful: true, status: 'Stopped' });
    await daemon.restart();
    expect(await get(name)).toMatchObject({ stateful: true, status: 'Stopped' });
    expect((await setState(daemon, name, 'start', { stateful: true })).err).toBe('');
  });

  test('a checkpoint that lost its files is refused with the reason', async () => {
    const name = await stored();
    rmSync(join(home(name), 'state/sim-state.json'));
    expect((await setState(daemon, name, 'start', { stateful: true })).err).toContain('does not hold all of it');
    expect((await setState(daemon, name, 'start')).err).toBe('');
  });

  test('follows a rename but not a copy, and is deleted with the container', async () => {
    const name = await stored();
    count += 1;
    await daemon.ok('POST', '/1.0/containers', { name: `copy${count}`, source: { type: 'copy', source: name } });
    expect(await get(`copy${count}`)).toMatchObject({ stateful: false });
    expect(files(`copy${count}`)).not.toContain('state');
    const renamed = `renamed${count}`;
    await daemon.ok('POST', path(name), { name: renamed });
    expect(await get(renamed)).toMatchObject({ stateful: true });
    expect((await setState(daemon, renamed, 'start', { stateful: true })).err).toBe('');
    await setState(daemon, renamed, 'stop', { stateful: true });
    await daemon.ok('DELETE', path(renamed));
    expect(existsSync(home(renamed))).toBe(false);
  });

  test('a checkpoint that a daemon restored and could not remove before its death is removed by the next one', async () => {
    const name = await stored();
    const state = readFileSync(join(home(name), 'state/sim-state.json'), 'utf8');
    const run = { ...daemon.sim.runOf(await running()), name, rootfs: join(home(name), 'rootfs') };
    await daemon.sim.checkpoints?.restore(run, { dir: join(home(name), 'state') }, new AbortController().signal);
    expect(state).toContain(name);
    await daemon.restart();
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Running' });
    expect(files(name)).not.toContain('state');
  });
});

describe('stateful snapshots', () => {
  test('keep the container running, and a restore continues from that moment', async () => {
    const name = await running();
    const old = await aged(name);
    await daemon.ok('POST', `${path(name)}/snapshots`, { name: 's', stateful: true });
    expect(await daemon.get(`${path(name)}/snapshots/s`)).toMatchObject({ stateful: true });
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Running' });
    expect(files(name)).not.toContain('state');
    writeFileSync(join(home(name), 'rootfs/later'), 'x');
    await setState(daemon, name, 'restart', { force: true });
    expect(await age(name)).toBeLessThan(old);
    await daemon.ok('PUT', path(name), { restore: 's', stateful: true });
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Running' });
    expect(existsSync(join(home(name), 'rootfs/later'))).toBe(false);
    expect(await age(name)).toBeGreaterThanOrEqual(old);
    expect(files(name)).not.toContain('state');
  });

  test('start a stopped container when restored with state, and not when restored without', async () => {
    const name = await running();
    await daemon.ok('POST', `${path(name)}/snapshots`, { name: 's', stateful: true });
    await setState(daemon, name, 'stop', { force: true });
    await daemon.ok('PUT', path(name), { restore: 's' });
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Stopped' });
    expect(files(name)).not.toContain('state');
    await daemon.ok('PUT', path(name), { restore: 's', stateful: true });
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Running' });
  });

  test('stateful snapshots of a frozen container leave it frozen', async () => {
    const name = await running();
    await daemon.ok('PUT', `${path(name)}/state`, { action: 'freeze' });
    await daemon.ok('POST', `${path(name)}/snapshots`, { name: 's', stateful: true });
    expect(await statusOf(daemon, name)).toBe('Frozen');
  });

  test('stateful snapshots that fail leave neither snapshot nor checkpoint, and the container running', async () => {
    const name = await running();
    daemon.sim.faults.inject({ operation: 'checkpoint', container: name, error: 'a socket is in the way', times: 1 });
    const failed = await daemon.run('POST', `${path(name)}/snapshots`, { name: 's', stateful: true });
    expect(failed.err).toContain('a socket is in the way');
    expect(await daemon.get(`${path(name)}/snapshots`)).toEqual([]);
    expect([await statusOf(daemon, name), files(name)]).toEqual([
      'Running',
      files(name).filter((one) => one !== 'state'),
    ]);
  });

  test('whose checkpoint cannot be restored leave the container stopped with it, for another try', async () => {
    const name = await running();
    await daemon.ok('POST', `${path(name)}/snapshots`, { name: 's', stateful: true });
    daemon.sim.faults.inject({ operation: 'restore', container: name, error: 'no such interface', times: 1 });
    const failed = await daemon.run('PUT', path(name), { restore: 's', stateful: true });
    expect(failed.err).toContain('no such interface');
    expect(await get(name)).toMatchObject({ stateful: true, status: 'Stopped' });
    expect((await setState(daemon, name, 'start', { stateful: true })).err).toBe('');
  });

  test('where checkpoints are impossible they are refused before the container is stopped', async () => {
    const name = await running();
    await daemon.ok('POST', `${path(name)}/snapshots`, { name: 's', stateful: true });
    const { initPid } = daemon.sim.probe(name);
    daemon.sim.faults.refuseCheckpoints('CRIU is not installed');
    expect((await daemon.run('PUT', path(name), { restore: 's', stateful: true })).err).toContain(
      'CRIU is not installed',
    );
    expect(daemon.sim.probe(name).initPid).toBe(initPid);
  });

  test('stateful snapshots of a stopped container with a checkpoint include it', async () => {
    const name = await running();
    await setState(daemon, name, 'stop', { stateful: true });
    await daemon.ok('POST', `${path(name)}/snapshots`, { name: 's' });
    expect(await daemon.get(`${path(name)}/snapshots/s`)).toMatchObject({ stateful: true });
    await setState(daemon, name, 'start');
    await daemon.ok('PUT', path(name), { restore: 's', stateful: true });
    expect(await get(name)).toMatchObject({ stateful: false, status: 'Running' });
  });
});
