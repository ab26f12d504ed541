// A daemon with real containers starts all its programs without a copy of itself.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lxcAvailable, openLxcRuntime } from '../../../../server/drivers/runtime/lxc/lxc.ts';
import { startChild } from '../../../../server/drivers/runtime/host/child-process.ts';
import { startFailure } from '../../../../server/drivers/runtime/host/posix-spawn.ts';
import { quickStart } from '../../../../server/drivers/runtime/host/quick-start.ts';
import { loadLibc } from '../../../../server/drivers/runtime/host/syscalls.ts';
import { copyGuestTreeInto } from '../../../../server/drivers/storage/copy-tree.ts';
import { readFrom } from '../../../../server/drivers/storage/trees/stream.ts';
import { exec } from '../../../../server/lib/exec.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { startProgramsBy } from '../../../../server/lib/start-program.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const libc = await loadLibc();
const available = process.getuid?.() === 0 ? await lxcAvailable() : { ok: false as const, reason: 'it needs root' };
if (!available.ok) console.log(`skipped: programs of a daemon with real containers: ${available.reason}`);

/** Node has one for each program that it has forked. */
const forked = (): number => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;

test.skipIf(!available.ok)(
  'programs are forked until the LXC runtime is open, and by posix_spawn from then on',
  async () => {
    const dir = tempFolder('quick-start-');
    startProgramsBy(undefined);
    const before = forked();
    const first = exec(['sleep', '0.2']);
    expect(forked()).toBe(before + 1);
    await first;
    const runtime = await openLxcRuntime({ dir, log: silentLog });
    try {
      const open = forked();
      const second = exec(['sleep', '0.2']);
      const target = join(dir, 'target');
      mkdirSync(target);
      const copied = copyGuestTreeInto('test/fixtures/sagas', target, true, new AbortController().signal);
      await new Promise((resolve) => setImmediate(resolve));
      expect(forked()).toBe(open);
      expect((await second).code).toBe(0);
      await copied;
      expect(readdirSync(target)).toEqual(readdirSync('test/fixtures/sagas'));
    } finally {
      startProgramsBy(undefined);
      await runtime.close();
      rmSync(dir, { recursive: true, force: true });
    }
  },
);

test.skipIf(libc?.posixSpawn === undefined)(
  'a program for which the host has no process left gives that as the reason, and no broken stream',
  async () => {
    if (libc === undefined) return;
    const posixSpawn = (): never => {
      throw startFailure('/bin/tar', constants.errno.EAGAIN);
    };
    const reason = /Cannot run \/bin\/tar: EAGAIN: the limit of processes and threads/;
    startProgramsBy(quickStart({ ...libc, posixSpawn }));
    try {
      const read = { argv: ['tar'], confinement: { reads: [], writes: [], keeps: [] } };
      const { signal } = new AbortController();
      const consume = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
        for await (const _bytes of bytes);
      };
      await expect(readFrom(read, () => true, consume, signal)).rejects.toThrow(reason);
      await expect(exec(['tar'])).rejects.toThrow(reason);
    } finally {
      startProgramsBy(undefined);
    }
    const plan = { file: '/usr/bin/lxc-attach', args: [], env: {}, cwd: '/', fds: [0, 1, 2] };
    expect(() => startChild({ ...libc, posixSpawn }, plan)).toThrow(reason);
  },
);

test('a program that is not there is its own fault, not that of the host', () => {
  expect(startFailure('/bin/x', constants.errno.ENOENT)).toMatchObject({
    code: 'ENOENT',
    message: 'Cannot run /bin/x: ENOENT',
  });
});
