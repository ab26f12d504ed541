// The example of a host from nothing, by its README: a preseed and more, on the simulation, with real containers and on a stock LXD.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { busyboxMissing } from '../support/busybox-rootfs.ts';
import { cli } from '../support/cli-io.ts';
import { realRuntimeMissing } from '../support/daemon.ts';
import { startGantryd } from '../support/e2e-gantryd.ts';
import { buildPrograms, repository, runProcess, type Programs } from '../support/e2e-programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../support/e2e-remains.ts';
import { expectOutput, readTranscript, withoutChance } from '../support/e2e-transcript.ts';
import { startStockLxd, stockLxdMissing } from '../support/stock-lxd.ts';

const example = join(repository, 'examples', 'host-bootstrap');
const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
const missingLxd = stockLxdMissing() ?? missing;
if (noImage !== undefined) console.log(`skipped: the example of a host from nothing: ${noImage}`);
else if (missingLxd !== undefined)
  console.log(`skipped: the example of a host from nothing on a stock LXD: ${missingLxd}`);
const network = 'boot0';

let programs: Programs;
beforeAll(() => {
  programs = buildPrograms();
  mkdirSync(join(programs.root, 'path'), { recursive: true });
  const script = `#!/bin/sh\nexec ${process.execPath} ${programs.gantry} "$@"\n`;
  writeFileSync(join(programs.root, 'path', 'gantry'), script, { mode: 0o755 });
});
afterAll(() => programs.remove());

async function walkThrough(runtime: 'lxc' | 'sim'): Promise<void> {
  const gantryd = await startGantryd(programs, { runtime });
  try {
    const env = { GANTRY_SOCKET: gantryd.socketPath, PATH: `${programs.root}/path:${process.env['PATH'] ?? ''}` };
    for (const { command, output } of readTranscript(readFileSync(join(example, 'README.md'), 'utf8'))) {
      const ran = await runProcess(['sh', '-c', `exec 2>&1; ${command}`], { cwd: programs.root, env });
      expect(ran.code, `$ ${command}\n${ran.stdout}`).toBe(0);
      expectOutput(command, output, ran.stdout);
      if (command === 'gantry plan -f examples/host-bootstrap') expectGoldenPlan(ran.stdout);
    }
    if (runtime === 'lxc') expect(hostParts(gantryd.dir, [network])).toEqual(nothing);
    for (const kind of ['containers', 'images', 'storage-pools']) expect(await gantryd.get(`/1.0/${kind}`)).toEqual([]);
    expect((await gantryd.get('/1.0/profiles/default')).devices).toEqual({});
    expect((await gantryd.get('/1.0')).config).not.toHaveProperty('user.site');
  } finally {
    await remove(gantryd, [network]);
  }
}

function expectGoldenPlan(plan: string): void {
  const golden = join(example, 'golden-plan.txt');
  const text = withoutChance(plan);
  if (process.env['UPDATE'] === '1' || !existsSync(golden)) writeFileSync(golden, text);
  expect(text, 'examples/host-bootstrap/golden-plan.txt; UPDATE=1 rewrites it').toBe(readFileSync(golden, 'utf8'));
}

describe('the example of a host from nothing', () => {
  it.skipIf(noImage !== undefined)('is true on the simulation', { timeout: 120_000 }, () => walkThrough('sim'));

  it.skipIf(noImage !== undefined || missing !== undefined)(
    'is true with real containers, and leaves nothing',
    { timeout: 300_000 },
    () => withRealNetwork(network, () => walkThrough('lxc')),
  );

  it.skipIf(noImage !== undefined || missingLxd !== undefined)(
    'is applied to a stock LXD, found unchanged there, and taken away',
    { timeout: 300_000 },
    () =>
      withRealNetwork(network, async () => {
        const folder = join(programs.root, 'examples', 'host-bootstrap');
        const build = join(programs.root, 'examples', 'quickstart', 'build-image.sh');
        expect((await runProcess(['sh', build, join(folder, 'base.tar.gz')])).code).toBe(0);
        const lxd = await startStockLxd();
        try {
          const gantry = async (verb: string, ...more: readonly string[]): Promise<string> => {
            const run = await cli([verb, '-f', folder, '--host', `unix://${lxd.socketPath}`, ...more]);
            expect(run.code, `gantry ${verb}\n${run.stdout}${run.stderr}`).toBe(0);
            return run.stdout;
          };
          await gantry('apply', '--auto-approve');
          expect(await gantry('plan', '--detailed-exitcode')).toContain('No changes');
          expect(await lxd.get('/1.0/containers/builder')).toMatchObject({ status: 'Running' });
          await gantry('destroy', '--auto-approve');
          expect(await lxd.get('/1.0/storage-pools')).toEqual([]);
        } finally {
          await lxd.cleanUp();
        }
      }),
  );
});
