// A daemon with real containers starts all its programs without a copy of itself.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lxcAvailable, openLxcRuntime } from '../../../../server/drivers/runtime/lxc/lxc.ts';
import { copyGuestTreeInto } from '../../../../server/drivers/storage/copy-tree.ts';
import { exec } from '../../../../server/lib/exec.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { startProgramsBy } from '../../../../server/lib/start-program.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

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
