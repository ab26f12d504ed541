// A daemon on a full disk, also after a kill: it starts, reads, deletes, refuses everything else with the reason, and recovers by itself.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DiskRoom, nextDiskState, reserveBytesOf } from '../../../server/services/server/disk-space.ts';
import { call } from '../../support/daemons/daemon.ts';
import {
  bundleDaemon,
  read,
  settle,
  startChild,
  type Bundle,
  type ChildDaemon,
} from '../../support/daemons/child-process.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

describe('the state of the disk', () => {
  const megabyte = 1024 * 1024;
  const totalBytes = 100 * megabyte;
  const reserve = reserveBytesOf({ freeBytes: 0, totalBytes });
  const withReserve = { isFull: false, hasReserve: true };
  const full = { isFull: true, hasReserve: false };

  test('the reserve is a fiftieth of the disk, with a small upper limit', () => {
    expect(reserve).toBe(2 * megabyte);
    expect(reserveBytesOf({ freeBytes: 0, totalBytes: 1e13 })).toBe(4 * megabyte);
  });

  test.each([
    ['has plenty of room', withReserve, 50 * megabyte, withReserve],
    ['has room for little more than the reserve', withReserve, reserve, withReserve],
    ['has less than half of the reserve left', withReserve, reserve / 2 - 1, full],
    ['is full, and the reserve was given back', full, reserve, full],
    ['has room for nearly twice the reserve again', full, 2 * reserve - 1, full],
    ['has room again', full, 2 * reserve, withReserve],
    ['has never had a reserve', { isFull: false, hasReserve: false }, 50 * megabyte, withReserve],
    ['has never had room for one', { isFull: false, hasReserve: false }, reserve, { isFull: false, hasReserve: false }],
  ] as const)('a disk that %s', (_what, before, freeBytes, after) => {
    expect(nextDiskState(before, { freeBytes, totalBytes })).toEqual(after);
  });
});

test('a missing state directory changes nothing and throws nothing', async () => {
  const vanished = tempFolder('gantry-vanished-');
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const room = new DiskRoom({ dir: vanished, log, nowMs: () => Date.now() });
  await room.close();
  rmSync(vanished, { recursive: true });
  await room.task().run(new Date(), new AbortController().signal);
  expect(room.reason()).toBeUndefined();
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: a daemon on a full disk: mounting a small one needs root');

describe.skipIf(!isRoot)('a daemon that was killed on a full disk', () => {
  let bundle: Bundle;
  let daemon: ChildDaemon | undefined;
  const dir = tempFolder('gantry-full-');
  const stateDir = (): string => join(dir, 'state');
  const running = (): ChildDaemon => {
    if (daemon === undefined) throw new Error('the daemon does not run');
    return daemon;
  };

  beforeAll(() => {
    bundle = bundleDaemon();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m,mode=0700', 'tmpfs', dir]);
  });
  afterAll(async () => {
    await daemon?.kill('SIGKILL');
    execFileSync('umount', ['-l', dir]);
    rmSync(dir, { recursive: true });
  });

  const start = async (): Promise<void> => {
    daemon = await startChild(bundle, stateDir(), 'sim');
  };
  const done = async (method: string, path: string, body?: object | Buffer): Promise<void> => {
    const { status, operation, metadata } = await settle(running(), method, path, body);
    if (status >= 300 || (operation !== undefined && operation.status !== 'Success'))
      throw new Error(`${method} ${path} failed: ${JSON.stringify(operation ?? metadata)}`);
  };
  /** Until the disk is completely full. */
  const fill = (name: string): void => {
    execFileSync('sh', ['-c', `cat /dev/zero > ${join(dir, name)} 2>&1 || true`], { stdio: 'ignore' });
  };
  const readOnly = async (): Promise<string | undefined> =>
    (await read(running(), '/1.0')).environment.read_only as string | undefined;
  const image = tarOf({ ...metadataFile, content: goodMetadata }, rootfsDirectory, {
    name: 'rootfs/large',
    content: Buffer.alloc(8 * 1024 * 1024),
  });

  test('starts, and reports the full disk in the log and in GET /1.0', async () => {
    await start();
    await done('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    for (const name of ['c1', 'c2']) {
      await done('POST', '/1.0/containers', { name, source: { type: 'none' }, devices });
      await done('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    }
    await done('POST', '/1.0/images', image);
    const filler = { 'user.filler': 'x'.repeat(20_000) };
    for (let n = 0; n < 60; n += 1) await done('POST', '/1.0/profiles', { name: `p${n}`, config: filler });
    await until(() => statSync(join(stateDir(), 'database/reserve')).size > 0);
    expect(await readOnly()).toBeUndefined();

    fill('filler');
    await running().kill('SIGKILL');
    fill('more');
    await start();
    expect(running().log.join('\n')).toContain('Read-only from now on: the disk of');
    expect(await readOnly()).toMatch(/is full \(.* MB free\), so this server is read-only\. Delete containers/);
    expect(await read(running(), '/1.0/profiles')).toHaveLength(61);
  });

  test.each([
    ['POST', '/1.0/profiles', { name: 'new' }],
    ['POST', '/1.0/containers', { name: 'new', source: { type: 'none' } }],
    ['PUT', '/1.0/profiles/p1', { config: {} }],
    ['PATCH', '/1.0', { config: { 'core.proxy_http': 'http://127.0.0.1:1' } }],
    ['POST', '/1.0/images', image],
  ] as const)('refuses %s %s with the reason and the remedy', async (method, path, body) => {
    const answer = await call(running(), method, path, body);
    expect([answer.status, answer.metadata?.code]).toEqual([500, 'diskFull']);
    expect(answer.metadata.message).toMatch(
      /^The request was refused: the disk of .*\/database is full .*writes are accepted again once \d+\.\d MB are free$/,
    );
  });

  test('stops and deletes existing objects', async () => {
    await done('PUT', '/1.0/containers/c1/state', { action: 'stop', force: true });
    await done('DELETE', '/1.0/containers/c1');
    for (let n = 0; n < 40; n += 1) await done('DELETE', `/1.0/profiles/p${n}`);
    expect(await read(running(), '/1.0/profiles')).toHaveLength(21);
    expect(await readOnly()).toBeDefined();
  });

  test('starts again after another kill in this state', async () => {
    await running().kill('SIGKILL');
    fill('even-more');
    await start();
    expect(await readOnly()).toBeDefined();
    expect(await read(running(), '/1.0/containers')).toEqual(['/1.0/containers/c2']);
  });

  test('accepts writes again as soon as a deletion has freed space', async () => {
    rmSync(join(dir, 'even-more'), { force: true });
    const [url] = (await read(running(), '/1.0/images')) as string[];
    await done('DELETE', url ?? '');
    expect(await readOnly()).toBeUndefined();
    await done('POST', '/1.0/profiles', { name: 'new' });
    expect(running().log.join('\n')).toContain('has room again: writes are accepted');
    await until(() => statSync(join(stateDir(), 'database/reserve'), { throwIfNoEntry: false }) !== undefined);
  });

  test('starts without a reserve, too, and has everything once there is space', async () => {
    await running().kill('SIGKILL');
    rmSync(join(stateDir(), 'database/reserve'));
    fill('last');
    await start();
    expect(await readOnly()).toBeDefined();
    expect((await call(running(), 'POST', '/1.0/profiles', { name: 'other' })).metadata.code).toBe('diskFull');
    for (const name of ['filler', 'more', 'last']) rmSync(join(dir, name), { force: true });
    await done('POST', '/1.0/profiles', { name: 'other' });
    expect(await read(running(), '/1.0/profiles')).toHaveLength(23);
    mkdirSync(join(dir, 'room'));
    writeFileSync(join(dir, 'room/file'), 'there is');
  });
});
