// The example of a fleet, by its README: two daemons, one hosts file, on the simulation and with real containers.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { makeDaemon, realRuntimeMissing, type TestDaemon } from '../../support/daemons/daemon.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { buildShellPrograms, exampleFolder, typeExample } from '../../support/cli/examples.ts';
import { runProcess } from '../../support/cli/programs.ts';
import { isLongRun } from '../../support/left-out.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';

const example = exampleFolder('fleet');
const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the example of a fleet: ${noImage}`);
const networks = ['fleeta0', 'fleetb0'];

const programs = buildShellPrograms();

async function walkThrough(runtime: 'lxc' | 'sim'): Promise<void> {
  const daemons: Gantryd[] = [];
  const base = join(programs.root, runtime);
  try {
    for (const name of ['alpha', 'beta']) {
      mkdirSync(join(base, name), { recursive: true });
      daemons.push(await startGantryd(programs, { runtime, dir: join(base, name) }));
    }
    const hosts = join(programs.root, 'examples', 'fleet', 'hosts.yaml');
    const text = readFileSync(hosts, 'utf8');
    expect(text).toContain('unix:///tmp/fleet/alpha/');
    writeFileSync(hosts, text.replaceAll('/tmp/fleet', base));
    await typeExample(programs, {
      name: 'fleet',
      env: { XDG_STATE_HOME: join(base, 'state') },
      printed: (text) => text.replaceAll(base, '/tmp/fleet'),
    });
    for (const gantryd of daemons) {
      if (runtime === 'lxc') expect(hostParts(gantryd.dir, networks)).toEqual(nothing);
      for (const kind of ['containers', 'images', 'storage-pools'])
        expect(await gantryd.get(`/1.0/${kind}`)).toEqual([]);
    }
  } finally {
    for (const gantryd of daemons) await remove(gantryd, networks);
  }
}

describe('the example of a fleet', () => {
  test.skipIf(noImage !== undefined)(
    'is rolled out, found unchanged, moved to production and destroyed on the simulation',
    () => walkThrough('sim'),
  );

  test('continues after a killed program on every host', async () => {
    const base = join(programs.root, 'killed');
    const daemons: TestDaemon[] = [];
    try {
      for (const name of ['alpha', 'beta']) {
        mkdirSync(join(base, name), { recursive: true });
        daemons.push(await makeDaemon({ dir: join(base, name) }));
      }
      const hosts = join(base, 'hosts.yaml');
      writeFileSync(hosts, readFileSync(join(example, 'hosts.yaml'), 'utf8').replaceAll('/tmp/fleet', base));
      const names = Array.from({ length: 15 }, (_, index) => `kind: profile\nname: p${index}\n`);
      writeFileSync(join(base, 'stack.yaml'), names.join('---\n'));
      const gantry = (verb: string, ...more: readonly string[]): readonly string[] => [
        process.execPath,
        programs.gantry,
        verb,
        '-f',
        join(base, 'stack.yaml'),
        '--hosts',
        hosts,
        ...more,
      ];
      const env = { XDG_STATE_HOME: join(base, 'state') };
      const killed = await runProcess(gantry('apply', '-y', '--parallelism', '1'), {
        env,
        heard: (text, child) => void (/^beta {2}\| .*Created/m.test(text) && child.kill('SIGKILL')),
      });
      expect(killed.signal).toBe('SIGKILL');
      const again = await runProcess(gantry('apply', '-y'), { env });
      expect(again.code, again.stderr).toBe(0);
      expect(again.stdout).toMatch(/^alpha +no changes/m);
      expect(again.stdout).toMatch(/^beta +done/m);
      expect((await runProcess(gantry('plan', '--detailed-exitcode'), { env })).code).toBe(0);
    } finally {
      for (const daemon of daemons) await daemon.cleanUp();
    }
  });

  // Other examples are walked through on real containers.
  test.skipIf(noImage !== undefined || missing !== undefined || !isLongRun)(
    'does the same with real containers, and leaves nothing behind',
    { timeout: 300_000 },
    () => withRealNetwork('fleet', () => walkThrough('lxc')),
  );
});
