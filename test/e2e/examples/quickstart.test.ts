// The tutorial of a first host, command by command, against gantryd on the simulation and on real containers.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd } from '../../support/daemons/gantryd.ts';
import { buildShellPrograms, typeExample, walksOnSimulation } from '../../support/cli/examples.ts';
import { runGantry, runProcess } from '../../support/cli/programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';

const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the quickstart: ${noImage}`);

const programs = buildShellPrograms();

async function walkThrough(runtime: 'lxc' | 'sim'): Promise<void> {
  const gantryd = await startGantryd(programs, { runtime });
  try {
    await typeExample(programs, {
      name: 'quickstart',
      tutorial: 'first-host',
      env: { GANTRY_SOCKET: gantryd.socketPath },
    });
    if (runtime === 'lxc') expect(hostParts(gantryd.dir, ['quick0'])).toEqual(nothing);
    expect(await gantryd.get('/1.0/containers')).toEqual([]);
    expect(await gantryd.get('/1.0/images')).toEqual([]);
  } finally {
    await remove(gantryd, ['quick0']);
  }
}

describe('the tutorial of a first host', () => {
  test.skipIf(noImage !== undefined || !walksOnSimulation(missing))('works on the simulation', () =>
    walkThrough('sim'),
  );

  test.skipIf(missing !== undefined)('works on real containers', { timeout: 400_000 }, () =>
    withRealNetwork('quick0', () => walkThrough('lxc')),
  );

  test.skipIf(noImage !== undefined)('also works without a daemon: --embedded', async () => {
    const stack = join(programs.root, 'examples', 'quickstart');
    await runProcess(['sh', join(stack, 'build-image.sh')]);
    const dir = join(programs.root, 'embedded');
    const embedded = ['-f', stack, '--embedded', dir, '--runtime', 'sim'];
    const applied = await runGantry(programs, ['apply', ...embedded, '--auto-approve']);
    expect(applied.stdout + applied.stderr).toContain('Apply complete! 7 added');
    expect(existsSync(join(dir, 'storage-pools/quick/containers/web/rootfs/bin/busybox'))).toBe(true);
    const destroyed = await runGantry(programs, ['destroy', ...embedded, '--auto-approve']);
    expect(destroyed.stdout + destroyed.stderr).toContain('Destroy complete! 0 added, 0 changed, 7 destroyed.');
    expect(existsSync(join(dir, 'storage-pools/quick'))).toBe(false);
  });
});
