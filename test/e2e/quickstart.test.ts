// The quickstart's README, command by command, against gantryd on the simulation and on real containers.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realRuntimeMissing } from '../support/daemon.ts';
import { startGantryd } from '../support/e2e-gantryd.ts';
import { buildPrograms, repository, runGantry, runProcess, type Programs } from '../support/e2e-programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../support/e2e-remains.ts';
import { expectOutput, readTranscript, withoutChance } from '../support/e2e-transcript.ts';
import { busyboxMissing } from '../support/busybox-rootfs.ts';

const example = join(repository, 'examples', 'quickstart');
const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the quickstart: ${noImage}`);

let programs: Programs;
beforeAll(() => {
  programs = buildPrograms();
  for (const name of ['gantry', 'gantryd'] as const) {
    const path = join(programs.root, 'path', name);
    mkdirSync(join(programs.root, 'path'), { recursive: true });
    writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${programs[name]} "$@"\n`, { mode: 0o755 });
  }
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
      if (command === 'gantry plan -f examples/quickstart') expectGoldenPlan(ran.stdout);
    }
    if (runtime === 'lxc') expect(hostParts(gantryd.dir, ['quick0'])).toEqual(nothing);
    expect(await gantryd.get('/1.0/containers')).toEqual([]);
    expect(await gantryd.get('/1.0/images')).toEqual([]);
  } finally {
    await remove(gantryd, ['quick0']);
  }
}

function expectGoldenPlan(plan: string): void {
  const golden = join(example, 'golden-plan.txt');
  const text = withoutChance(plan);
  if (process.env['UPDATE'] === '1' || !existsSync(golden)) writeFileSync(golden, text);
  expect(text, 'examples/quickstart/golden-plan.txt; UPDATE=1 rewrites it').toBe(readFileSync(golden, 'utf8'));
}

describe('the README of the quickstart', () => {
  it.skipIf(noImage !== undefined)('is true on the simulation', { timeout: 120_000 }, () => walkThrough('sim'));

  it.skipIf(missing !== undefined)('is true on real containers', { timeout: 400_000 }, () =>
    withRealNetwork('quick0', () => walkThrough('lxc')),
  );

  it('types commands at all', () => {
    expect(readTranscript(readFileSync(join(example, 'README.md'), 'utf8')).length).toBeGreaterThan(10);
  });

  it.skipIf(noImage !== undefined)('also works without any daemon: --embedded', { timeout: 120_000 }, async () => {
    const stack = join(programs.root, 'examples', 'quickstart');
    await runProcess(['sh', join(stack, 'build-image.sh')]);
    const dir = join(programs.root, 'embedded');
    const embedded = ['-f', stack, '--embedded', dir, '--runtime', 'sim'];
    const applied = await runGantry(programs, ['apply', ...embedded, '--auto-approve']);
    expect(applied.stdout + applied.stderr).toContain('Apply complete! 7 added');
    expect(existsSync(join(dir, 'storage-pools/quick/containers/web/rootfs/bin/busybox'))).toBe(true);
    const second = await runGantry(programs, ['plan', ...embedded, '--detailed-exitcode']);
    expect(second).toMatchObject({ code: 0, stdout: 'No changes: all 7 declared objects are as declared.\n' });
    const destroyed = await runGantry(programs, ['destroy', ...embedded, '--auto-approve']);
    expect(destroyed.stdout + destroyed.stderr).toContain('Destroy complete! 0 added, 0 changed, 7 destroyed.');
    expect(existsSync(join(dir, 'storage-pools/quick'))).toBe(false);
  });
});
