// `gantry init --image debootstrap` from nothing to a Debian that runs on real containers: a real debootstrap, from the mirror of apt.
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd } from '../../support/daemons/gantryd.ts';
import { buildPrograms, runGantry } from '../../support/cli/programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';
import { until } from '../../support/until.ts';

const hasProgram = spawnSync('which', ['debootstrap']).status === 0;
const missing = (await realRuntimeMissing()) ?? (hasProgram ? undefined : 'debootstrap is not installed');
if (missing !== undefined) console.log(`skipped: the first Debian of gantry init: ${missing}`);

const network = 'gantry0';

test.skipIf(missing !== undefined)(
  'init --image debootstrap ends in a Debian that has booted, has an address and is as its manifest says',
  { timeout: 1_200_000 },
  () =>
    withRealNetwork(network, async () => {
      const programs = buildPrograms();
      const gantryd = await startGantryd(programs, { runtime: 'lxc' });
      try {
        const folder = join(programs.root, 'first');
        const env = { GANTRY_SOCKET: gantryd.socketPath };
        const gantry = (...words: readonly string[]) => runGantry(programs, words, { env });
        const made = await gantry('init', folder, '--image', 'debootstrap', '--yes');
        expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('Next: gantry shell first')]);
        const inside = (...command: readonly string[]) => gantry('exec', 'first', '--', ...command);
        expect((await inside('cat', '/etc/os-release')).stdout).toContain('ID=debian\n');
        await until(async () => (await inside('systemctl', 'is-system-running')).stdout === 'running\n', 120_000);
        await until(async () => (await inside('ip', '-4', 'address', 'show', 'eth0')).stdout.includes(' inet '));
        expect((await inside('cat', '/etc/machine-id')).stdout).toMatch(/^[0-9a-f]{32}\n$/);
        expect((await inside('hostname')).stdout).toBe('first\n');
        expect((await gantry('plan', folder, '--detailed-exitcode')).code).toBe(0);
        expect((await gantry('destroy', folder, '-y')).code).toBe(0);
        expect(hostParts(gantryd.dir, [network])).toEqual(nothing);
      } finally {
        await remove(gantryd, [network]);
      }
    }),
);
