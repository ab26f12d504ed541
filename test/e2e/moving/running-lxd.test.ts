// Running containers between a real LXD and this daemon by the stock client: each writes down the time ten times a second, so that its
// file shows for how long it was down, or its work lost. A long run moves 1 GiB, which takes less than five seconds of it.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../server/drivers/storage/btrfs/btrfs.ts';
import { buildPrograms, runGantry } from '../../support/cli/programs.ts';
import { realRuntimeMissing, type TestDaemon } from '../../support/daemons/daemon.ts';
import { clientMissing } from '../../support/hosts/lxd-clients.ts';
import { openLxdAndDaemon, treeIn, type LxdAndDaemon } from '../../support/hosts/lxd-and-daemon.ts';
import { stockLxdMissing, type StockLxd } from '../../support/hosts/stock-lxd.ts';
import { isLongRun } from '../../support/left-out.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const missing = stockLxdMissing() ?? clientMissing('lxc') ?? (await realRuntimeMissing());
if (missing !== undefined) console.log(`skipped: running containers of a real LXD, since ${missing}`);
const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: running containers of a real LXD on btrfs, since ${noBtrfs}`);

const mebibytes = isLongRun ? 1024 : 16;
/** The short run shares its processors with other tests. */
const limitSeconds = isLongRun ? 5 : 30;
/** A stop, a comparison of all files and a start, for which a pool of directories copies them once more. */
const refreshLimitSeconds = 30;
const limitMs = 900_000;

/** The uptime of the host is the same on both sides. */
const clock = `#!/bin/sh
(while true; do cut -d' ' -f1 /proc/uptime >>/ticks; sleep 0.1; done) </dev/null >/dev/null 2>&1 &
`;
/** Three quarters in eight files, the rest in files of 64 KiB. */
const data = `cd "$1"; mkdir data; cd data
for i in $(seq 8); do head -c $(($2 * 98304)) /dev/urandom > big$i; done
for i in $(seq 64); do mkdir d$i; (cd d$i; head -c $(($2 * 4096)) /dev/urandom | split -b 64K); done; du -sm .`;

describe.skipIf(missing !== undefined)('a running container of a real LXD', () => {
  const home = tempFolder('gtmr-home-');
  const programs = buildPrograms();
  let pair: LxdAndDaemon;
  let lxd: StockLxd;
  let daemon: TestDaemon;
  let lxc: (...words: readonly string[]) => Promise<void>;
  beforeAll(async () => {
    pair = await openLxdAndDaemon('gtmr-', { runtime: 'lxc' });
    ({ lxd, daemon } = pair);
    lxc = async (...words) => {
      const ran = await pair.lxc.run(words, { limitMs });
      expect(ran.code, `lxc ${words.join(' ')}: ${ran.stderr}`).toBe(0);
    };
    if (noBtrfs !== undefined) return;
    for (const remote of ['lxd', 'gantry']) await lxc('storage', 'create', `${remote}:fast`, 'btrfs', 'size=5GiB');
  });
  afterAll(() => pair?.cleanUp());

  const ticksIn = (path: string): readonly number[] => readFileSync(path, 'utf8').trim().split('\n').map(Number);
  /** Seconds between two entries that follow each other, at most: in them it was down, or what it wrote is lost. */
  const longestGap = (ticks: readonly number[]): number =>
    Math.max(...ticks.slice(1).map((tick, index) => tick - (ticks[index] ?? tick)));
  /** The file of a container that has begun to write again after `known` entries. */
  const ticksAfter = async (path: string, known: number): Promise<readonly number[]> => {
    await until(() => existsSync(path) && ticksIn(path).length > known + 10, 60_000);
    return ticksIn(path);
  };

  describe.each(noBtrfs === undefined ? ['default', 'fast'] : ['default'])('in pools %s', (pool) => {
    const lxdRoot = (): string => join(treeIn(lxd, pool, pool), 'rootfs');
    const ourRoot = (): string => join(treeIn(daemon, pool, pool), 'rootfs');
    const hashes = (root: string): string =>
      execFileSync(
        'sh',
        ['-ec', 'cd "$1/data"; find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum', 'sh', root],
        {
          encoding: 'utf8',
        },
      );
    let whole = '';
    const report = (what: string, ticks: readonly number[], limit = limitSeconds): void => {
      const gap = longestGap(ticks);
      console.log(`${what}, ${mebibytes} MiB, pools ${pool}: ${gap.toFixed(1)} s without an entry`);
      expect(gap).toBeLessThan(limit);
    };

    test('moves here with --stateless, and what it wrote meanwhile comes along', { timeout: limitMs }, async () => {
      await lxc('init', 'lxd:busybox', `lxd:${pool}`, '-s', pool);
      writeFileSync(join(lxdRoot(), 'etc/rc.local'), clock, { mode: 0o755 });
      execFileSync('sh', ['-ec', data, 'sh', lxdRoot(), String(mebibytes)]);
      whole = hashes(lxdRoot());
      await lxc('start', `lxd:${pool}`);
      await until(() => existsSync(join(lxdRoot(), 'ticks')) && ticksIn(join(lxdRoot(), 'ticks')).length > 20);
      const startMs = Date.now();
      // LXD 5.0.2 otherwise freezes a container on a pool of directories for the whole transfer.
      await lxc('move', `lxd:${pool}`, `gantry:${pool}`, '--stateless', '--allow-inconsistent', '-s', pool);
      console.log(`lxc move took ${((Date.now() - startMs) / 1000).toFixed(0)} s`);
      const known = ticksIn(join(ourRoot(), 'ticks')).length;
      report('lxc move from LXD', await ticksAfter(join(ourRoot(), 'ticks'), known));
      expect(hashes(ourRoot())).toBe(whole);
      expect((await lxd.call('GET', `/1.0/instances/${pool}`)).status).toBe(404);
      expect((await daemon.get(`/1.0/containers/${pool}`)).status).toBe('Running');
    });

    // migration/stock-lxd.test.ts has refreshes; a long run has them of running containers.
    const refreshes = test.skipIf(!isLongRun);
    refreshes(
      'goes back by a copy while it runs, a stop, and a refresh, and nothing is lost',
      { timeout: limitMs },
      async () => {
        await lxc('copy', `gantry:${pool}`, `lxd:${pool}`, '--stateless', '-s', pool);
        await lxc('copy', `gantry:${pool}`, `lxd:${pool}`, '--refresh');
        await lxc('stop', '--force', `gantry:${pool}`);
        const last = ticksIn(join(ourRoot(), 'ticks'));
        await lxc('copy', `gantry:${pool}`, `lxd:${pool}`, '--refresh');
        await lxc('start', `lxd:${pool}`);
        const ticks = await ticksAfter(join(lxdRoot(), 'ticks'), last.length);
        expect(ticks.slice(0, last.length)).toEqual(last);
        report('lxc copy, stop, copy --refresh, start to LXD', ticks.slice(last.length - 1), refreshLimitSeconds);
        expect(hashes(lxdRoot())).toBe(whole);
        await lxc('delete', `gantry:${pool}`);
      },
    );

    refreshes(
      'comes here by a copy while it runs, a stop, and a refresh, and nothing is lost',
      { timeout: limitMs },
      async () => {
        await lxc('copy', `lxd:${pool}`, `gantry:${pool}`, '--stateless', '-s', pool);
        await lxc('copy', `lxd:${pool}`, `gantry:${pool}`, '--refresh');
        await lxc('stop', '--force', `lxd:${pool}`);
        const last = ticksIn(join(lxdRoot(), 'ticks'));
        await lxc('copy', `lxd:${pool}`, `gantry:${pool}`, '--refresh');
        await lxc('start', `gantry:${pool}`);
        const ticks = await ticksAfter(join(ourRoot(), 'ticks'), last.length);
        expect(ticks.slice(0, last.length)).toEqual(last);
        report('lxc copy, stop, copy --refresh, start from LXD', ticks.slice(last.length - 1), refreshLimitSeconds);
        expect(hashes(ourRoot())).toBe(whole);
        await lxc('delete', '--force', `lxd:${pool}`);
      },
    );

    test('moves to LXD with --stateless', { timeout: limitMs }, async () => {
      const before = ticksIn(join(ourRoot(), 'ticks')).length;
      await lxc('move', `gantry:${pool}`, `lxd:${pool}`, '--stateless', '-s', pool);
      const known = ticksIn(join(lxdRoot(), 'ticks')).length;
      const ticks = (await ticksAfter(join(lxdRoot(), 'ticks'), known)).slice(before - 1);
      // LXD takes a stream of btrfs as of the moment at which it begins.
      if (pool === 'default') report('lxc move to LXD', ticks);
      expect(hashes(lxdRoot())).toBe(whole);
      expect((await lxd.get(`/1.0/instances/${pool}`)).status).toBe('Running');
    });

    test(
      'comes back by gantry move --no-live, without a flag for files that change',
      { timeout: limitMs },
      async () => {
        const last = ticksIn(join(lxdRoot(), 'ticks'));
        const sockets = ['--host', `unix://${lxd.socketPath}`, '--target-host', `unix://${daemon.socketPath}`];
        const moved = await runGantry(programs, ['move', pool, '--no-live', '--storage', pool, ...sockets], {
          cwd: home,
        });
        expect(moved.code, moved.stderr).toBe(0);
        const ticks = await ticksAfter(join(ourRoot(), 'ticks'), last.length);
        expect(ticks.slice(0, last.length)).toEqual(last);
        report('gantry move from LXD', ticks.slice(last.length - 1));
        expect(hashes(ourRoot())).toBe(whole);
        expect((await lxd.call('GET', `/1.0/instances/${pool}`)).status).toBe(404);
      },
    );
  });
});
