// The hook that LXC runs before init, run as LXC runs it, decides like the driver: in time, too late, in another boot, without a limit.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { bootSeconds } from '../../../../server/drivers/runtime/guard/guard-line.ts';
import { Guard } from '../../../../server/drivers/runtime/guard/guard.ts';
import { mayBegin, mayBeginHook, startUntilLine } from '../../../../server/drivers/runtime/guard/start-until.ts';
import { readBootId } from '../../../../server/lib/shared/processes.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let dir: string;
beforeEach(() => void (dir = tempFolder(`gtsu $a'b`)));

/** Both decide alike. */
function may(file: string): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', `exec ${mayBeginHook(file)} c1 lxc start-host`], { env: {} });
  expect(status === 0).toBe(mayBegin(file));
  return status === 0;
}

test.skipIf(process.platform !== 'linux')(
  'a start begins only in time and in the boot that the time belongs to',
  () => {
    const file = join(dir, 'start-until');
    expect(may(file)).toBe(true);
    const cases: readonly (readonly [text: string, begins: boolean])[] = [
      [startUntilLine(bootSeconds() + 60, readBootId()), true],
      [startUntilLine(bootSeconds() - 1, readBootId()), false],
      // Whole seconds: never after the end of the lease.
      [startUntilLine(bootSeconds(), readBootId()), false],
      [startUntilLine(bootSeconds() + 60, '00000000-0000-0000-0000-000000000000'), false],
      [startUntilLine(Number.NEGATIVE_INFINITY, readBootId()), false],
      ['', false],
      ['later\n', false],
    ];
    for (const [text, begins] of cases) {
      writeFileSync(file, text);
      expect([text, may(file)]).toEqual([text, begins]);
    }
  },
);

test.skipIf(Guard.missing() !== undefined)(
  'a guard limits starts to the time that it was fed until it is not needed any more',
  async () => {
    const guard = new Guard(dir);
    try {
      await guard.feed({ untilMs: performance.now() + 60_000, paths: [] }, []);
      expect([guard.limitsStarts, may(guard.startUntilFile)]).toEqual([true, true]);
      await guard.feed({ untilMs: performance.now() - 1, paths: [] }, []);
      expect(may(guard.startUntilFile)).toBe(false);
      guard.letGo();
      expect(may(guard.startUntilFile)).toBe(false);
    } finally {
      guard.quit();
    }
    expect([guard.limitsStarts, may(guard.startUntilFile)]).toEqual([false, true]);
  },
);
