// The etcd of a host runs as long as its daemon, comes back when it is killed, and reports why it cannot run.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { EtcdProcess } from '../../../../server/membership/etcd/etcd-process.ts';
import { findEtcd } from '../../../../server/membership/etcd/etcd-program.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { type EtcdNest, openEtcdNest } from '../../../support/store/supervised-etcd.ts';
import { put } from '../../../support/store/watching.ts';
import { until } from '../../../support/until.ts';

const missing = etcdMissing();
const alone = { kind: 'new', token: 'test' } as const;

const isAlive = (pid: number | undefined): boolean => pid !== undefined && existsSync(`/proc/${pid}/exe`);

describe('without etcd', () => {
  test('the error names the package', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = '/nowhere';
    try {
      await expect(findEtcd()).rejects.toThrow('apt-get install etcd-server');
    } finally {
      process.env['PATH'] = path;
    }
    await expect(findEtcd('/bin/true')).rejects.toThrow('/bin/true is not etcd');
    await expect(findEtcd('/none')).rejects.toThrow('cannot run /none');
  });
});

describe.skipIf(missing !== undefined)('the etcd of a host', () => {
  let nest: EtcdNest;
  beforeEach(async () => {
    nest = await openEtcdNest();
  });
  afterEach(() => nest.close());

  const open = (address: string) => openEtcdStore({ endpoints: [address], name: 'x', tls: nest.tls, attemptMs: 500 });

  test('keeps records over SIGKILL, and its end is logged', async () => {
    const { process: etcd, start } = await nest.member('m0', alone);
    await etcd.start(start);
    const store = await open(start.clientAddress);
    await store.txn([], [put('/a', '1')]);
    const first = etcd.status.pid;
    process.kill(first ?? 0, 'SIGKILL');
    await until(() => etcd.status.state === 'running' && etcd.status.pid !== first);
    expect(etcd.status).toMatchObject({ restarts: 1, reason: 'it was killed by SIGKILL', version: expect.any(String) });
    expect(await store.get('/a')).toMatchObject({ version: 1 });
    await store.close();
    expect(nest.logged).toContainEqual(
      'error The etcd of this host has ended: it was killed by SIGKILL; it is started again in 0.1 s',
    );
    const running = etcd.status.pid;
    await etcd.stop();
    await etcd.stop();
    expect(isAlive(running)).toBe(false);
    expect(etcd.status.state).toBe('stopped');
    expect(statSync(start.dir).mode & 0o777).toBe(0o700);
    expect(statSync(start.tls.key).mode & 0o777).toBe(0o600);
    await etcd.start(start);
    const again = await open(start.clientAddress);
    expect(await again.get('/a')).toMatchObject({ version: 1 });
    await again.close();
  });

  test('does not start where another program listens, and keeps retrying if requested', async () => {
    const { process: etcd, start } = await nest.member('m0', alone);
    const port = Number(start.clientAddress.split(':')[1]);
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    await expect(etcd.start(start)).rejects.toThrow('etcd cannot run here: another program listens at its address');
    expect(etcd.status.state).toBe('stopped');
    await etcd.keepRunning(start);
    await until(() => etcd.status.restarts > 0);
    other.close();
    await until(
      () => etcd.status.state === 'running' && nest.logged.some((line) => line.includes('now serving')),
      60_000,
    );
    const store = await open(start.clientAddress);
    expect(await store.txn([], [put('/a')])).toMatchObject({ ok: true });
    await store.close();
  });

  test('the etcd of a host with damaged data is not started again and again', async () => {
    const { process: etcd, start } = await nest.member('m0', alone);
    await etcd.start(start);
    await etcd.stop();
    writeFileSync(join(start.dir, 'data/member/snap/db'), Buffer.alloc(20_000, 7));
    await expect(etcd.start(start)).rejects.toThrow('etcd cannot run here: its data is damaged');
    await etcd.keepRunning(start);
    await until(() => etcd.status.state === 'failed');
    expect(etcd.status.restarts).toBe(0);
  });

  test('reports a full disk, and runs again when there is room', async (context) => {
    const { process: etcd, start } = await nest.member('m0', alone);
    mkdirSync(start.dir, { recursive: true });
    const tmpfs = ['-t', 'tmpfs', '-o', 'size=30m,mode=0700', 'tmpfs', start.dir];
    if (process.getuid?.() !== 0 || spawnSync('mount', tmpfs).status !== 0) {
      context.skip('mounting a small file system needs root on Linux');
      return;
    }
    try {
      await expect(etcd.start(start)).rejects.toThrow('etcd cannot run here: the disk of its data is full: make room');
      await etcd.keepRunning(start);
      await until(() => etcd.status.restarts > 0);
      // etcd also tries to allocate its next log file, of 64 MB: where that does not fit, its database has no room meanwhile.
      execFileSync('mount', ['-o', 'remount,size=200m', start.dir]);
      await until(() => nest.logged.some((line) => line.includes('now serving')));
      const store = await open(start.clientAddress);
      expect(await store.txn([], [put('/a')])).toMatchObject({ ok: true });
      await store.close();
    } finally {
      await etcd.stop();
      spawnSync('umount', ['-l', start.dir]);
    }
  });

  test('ends with a daemon that is killed', async () => {
    const { start } = await nest.member('m0', alone);
    const daemon = await startElsewhere(nest.dir, start);
    const etcd = daemon.etcd;
    expect(isAlive(etcd)).toBe(true);
    daemon.child.kill('SIGKILL');
    await once(daemon.child, 'exit');
    await until(() => !isAlive(etcd));
  });

  test('the etcd of a host that an earlier daemon left behind is ended first', async () => {
    const { process: etcd, start } = await nest.member('m0', alone);
    // A program whose arguments claim the data, as an etcd on a host without setpriv would.
    const leftover = spawn('/bin/sh', ['-c', 'while :; do sleep 0.1; done', `--data-dir=${join(start.dir, 'data')}`]);
    const ended = once(leftover, 'exit');
    await etcd.start(start);
    await etcd.stop();
    expect(leftover.exitCode ?? leftover.signalCode).toBeNull();
    writeFileSync(join(start.dir, 'etcd.pid'), String(leftover.pid));
    await etcd.start(start);
    await ended;
    // Another program's process is left alone.
    await etcd.stop();
    writeFileSync(join(start.dir, 'etcd.pid'), String(process.pid));
    await etcd.start(start);
  });

  test('refuses clients without a certificate of the cluster, a second start at once and an unknown program', async () => {
    const { process: etcd, start } = await nest.member('m0', alone);
    await etcd.start(start);
    const stranger = await openEtcdNest();
    onTestFinished(() => stranger.close());
    for (const tls of [stranger.tls, { ...stranger.tls, ca: nest.tls.ca }, { ca: nest.tls.ca }]) {
      const opening = openEtcdStore({ endpoints: [start.clientAddress], name: 'x', tls, attemptMs: 400, totalMs: 500 });
      await expect(opening).rejects.toMatchObject({ code: 'Unavailable' });
    }
    await expect(etcd.start(start)).rejects.toThrow('started already');
    const wrong = new EtcdProcess({ log: silentLog, etcdPath: '/bin/false' });
    await expect(wrong.start(start)).rejects.toThrow('/bin/false failed');
  });
});

async function startElsewhere(dir: string, start: object): Promise<{ child: ChildProcess; etcd: number }> {
  const script = join(dir, 'daemon.mjs');
  writeFileSync(
    script,
    `const { EtcdProcess } = await import(process.argv[2]);
     const log = { debug() {}, info() {}, warn() {}, error() {} };
     const etcd = new EtcdProcess({ log });
     await etcd.start(JSON.parse(process.argv[3]));
     console.log(etcd.status.pid);
     setInterval(() => {}, 1000);`,
  );
  const { build } = await import('esbuild');
  const bundle = join(dir, 'etcd-process.mjs');
  const entry = new URL('../../../../server/membership/etcd/etcd-process.ts', import.meta.url).pathname;
  await build({ entryPoints: [entry], outfile: bundle, bundle: true, platform: 'node', format: 'esm' });
  const child = spawn(process.execPath, [script, bundle, JSON.stringify(start)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, etcd: Number(line.toString()) };
}
