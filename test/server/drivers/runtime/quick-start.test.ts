// A daemon with real containers starts all its programs without a copy of itself.
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lxcAvailable, openLxcRuntime } from '../../../../server/drivers/runtime/lxc/lxc.ts';
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
      expect(forked()).toBe(open);
      expect((await second).code).toBe(0);
    } finally {
      startProgramsBy(undefined);
      await runtime.close();
      rmSync(dir, { recursive: true, force: true });
    }
  },
);
