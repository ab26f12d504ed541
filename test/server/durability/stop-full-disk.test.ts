// A stop on a full disk: the container has stopped, so the stop succeeds; the record follows when there is space again.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createContainer, makeSeeded, setState, statusOf, type TestDaemon } from '../../support/daemons/daemon.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: a stop on a full disk: the disk is mounted by root');

/** Fills the rest of the disk. */
function fill(file: string): void {
  const fd = openSync(file, 'w');
  try {
    for (const size of [65_536, 4_096, 512, 1]) {
      const block = Buffer.alloc(size, 1);
      try {
        while (writeSync(fd, block) > 0);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(fd);
  }
}

test.skipIf(!isRoot)(
  'a stop on a full disk succeeds, and is recorded once there is space, without a restart',
  async () => {
    const disk = tempFolder('gtya-full-');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,mode=0700', 'tmpfs', disk]);
    let daemon: TestDaemon | undefined;
    try {
      daemon = await makeSeeded({ dir: disk });
      await createContainer(daemon, 'c');
      expect((await setState(daemon, 'c', 'start')).err).toBe('');
      const ballast = join(disk, 'ballast');
      fill(ballast);
      // The free space inside the store's files is used up first.
      let isRefused = false;
      for (let index = 0; index < 2000 && !isRefused; index += 1) {
        const config = { 'user.filler': 'x'.repeat(20_000 + index) };
        isRefused = (await daemon.call('PATCH', '/1.0/profiles/default', { config })).status >= 500;
      }
      expect(isRefused).toBe(true);
      // The reserve, which a deletion frees, is used up too.
      await daemon.call('DELETE', '/1.0/profiles/none');
      const more = join(disk, 'more');
      fill(more);
      const stopped = await setState(daemon, 'c', 'stop', { force: true });
      expect([stopped.status, stopped.err]).toEqual(['Success', '']);
      expect(await statusOf(daemon, 'c')).toBe('Stopped');
      const power = async (): Promise<string> =>
        (await daemon?.get('/1.0/containers/c'))?.config['volatile.last_state.power'] as string;
      expect(await power()).toBe('RUNNING');
      const reports = daemon.logged.filter((line) => line.includes('Recording that c stopped failed'));
      expect(reports).toHaveLength(1);
      for (const file of [ballast, more]) rmSync(file);
      await until(async () => (await power()) === 'STOPPED');
    } finally {
      await daemon?.stop().catch(() => {});
      execFileSync('umount', ['-l', disk]);
      await rm(disk, { recursive: true, force: true });
    }
  },
);
