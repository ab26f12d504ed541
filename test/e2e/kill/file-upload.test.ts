// Uploads into containers against the shipped daemon as a process: killed in the middle, and with files larger than its memory may grow.
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { makeBusyboxRootfs } from '../../support/images/busybox-rootfs.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { buildPrograms } from '../../support/cli/programs.ts';
import { remove } from '../../support/hosts/remains.ts';
import { until } from '../../support/until.ts';

const missing = await realRuntimeMissing();
const mebibyte = 1024 * 1024;
const total = 64 * mebibyte;
const at = (path: string): string => `/1.0/containers/web/files?path=${path}`;

const programs = buildPrograms();

async function makeContainer(gantryd: Gantryd): Promise<string> {
  await gantryd.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
  await wait(gantryd, 'POST', '/1.0/containers', { name: 'web', source: { type: 'none' }, devices });
  const rootfs = join(gantryd.dir, 'storage-pools/default/containers/web/rootfs');
  if (gantryd.runtime === 'lxc') await makeBusyboxRootfs(rootfs, { dhcp: false });
  await wait(gantryd, 'PUT', '/1.0/containers/web/state', { action: 'start' });
  return rootfs;
}

async function wait(gantryd: Gantryd, method: string, path: string, body: object): Promise<void> {
  const answer = await gantryd.call(method, path, body);
  const operation = (await gantryd.get(`${String(answer.body.operation)}/wait`)) as { status: string; err: string };
  expect(operation).toMatchObject({ status: 'Success' });
}

/** Sends a part of the announced body and stops there. */
function begin(gantryd: Gantryd, path: string): ClientRequest {
  const headers = { 'content-length': total };
  const upload = httpRequest({ socketPath: gantryd.socketPath, method: 'POST', path: at(path), headers });
  upload.on('error', () => {});
  upload.write(Buffer.alloc(4 * mebibyte, 'x'));
  return upload;
}

/** Everything below, as paths. */
const allFiles = (dir: string): readonly string[] => (readdirSync(dir, { recursive: true }) as string[]).toSorted();

describe.each(missing === undefined ? (['lxc'] as const) : (['sim'] as const))('on %s', (runtime) => {
  test('a daemon killed during uploads leaves the old file complete, no new one and no temporary one', async () => {
    const gantryd = await startGantryd(programs, { runtime });
    try {
      const rootfs = await makeContainer(gantryd);
      mkdirSync(join(rootfs, 'data'));
      writeFileSync(join(rootfs, 'data/old'), 'old');
      const pid = gantryd.pid;
      const uploads = [begin(gantryd, '/data/new'), begin(gantryd, '/data/old')];
      // The unnamed files, open in the daemon and already filled.
      await until(() => openSizes(pid, `${rootfs}/data`).filter((size) => size >= mebibyte).length === 2);
      await gantryd.kill();
      for (const upload of uploads) upload.destroy();
      expect(readFileSync(join(rootfs, 'data/old'), 'utf8')).toBe('old');
      expect(allFiles(join(rootfs, 'data'))).toEqual(['old']);
      await gantryd.start();
      expect(allFiles(join(rootfs, 'data'))).toEqual(['old']);
      expect((await gantryd.call('POST', at('/data/new'), 'whole')).status).toBe(200);
      expect(readFileSync(join(rootfs, 'data/new'), 'utf8')).toBe('whole');
    } finally {
      await remove(gantryd, []);
    }
  });
});

test('64 MiB are uploaded and downloaded while the daemon’s memory grows little', async () => {
  const gantryd = await startGantryd(programs, { runtime: 'sim' });
  try {
    const rootfs = await makeContainer(gantryd);
    // Once, for code that is loaded and compiled by the first one.
    await push(gantryd, '/first');
    const before = peakOf(gantryd.pid);
    for (let turn = 0; turn < 2; turn++) {
      await push(gantryd, `/large${turn}`);
      expect(await pulledBytes(gantryd, `/large${turn}`)).toBe(total);
    }
    expect(statSync(join(rootfs, 'large0')).size).toBe(total);
    expect((peakOf(gantryd.pid) - before) / 1024).toBeLessThan(48);
  } finally {
    await remove(gantryd, []);
  }
});

async function push(gantryd: Gantryd, path: string): Promise<void> {
  const chunk = Buffer.alloc(mebibyte, 'y');
  const content = Readable.from(Array.from({ length: 64 }, () => chunk));
  expect((await gantryd.call('POST', at(path), content, { 'content-length': String(total) })).status).toBe(200);
}

function pulledBytes(gantryd: Gantryd, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest({ socketPath: gantryd.socketPath, path: at(path) }, (response) => {
      let count = 0;
      response.on('data', (chunk: Buffer) => (count += chunk.length));
      response.on('end', () => resolve(count));
    })
      .on('error', reject)
      .end();
  });
}

/** Peak memory of the process in KiB. */
function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Sizes of the deleted or unnamed files that the process has open in this directory's file system. */
function openSizes(pid: number, dir: string): readonly number[] {
  const { dev } = statSync(dir);
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      const stats = statSync(`/proc/${pid}/fd/${fd}`);
      return stats.isFile() && stats.dev === dev && stats.nlink === 0 ? [stats.size] : [];
    } catch {
      return [];
    }
  });
}
