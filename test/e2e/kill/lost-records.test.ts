// A daemon that lost its records is killed while it recovers them: `gantryd recover` finishes, running containers never stop, and the
// plan of the manifests is empty.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { buildPrograms, runGantry, runProcess, type Ran } from '../../support/cli/programs.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { done } from '../../support/daemons/killed-gantryd.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { remove } from '../../support/hosts/remains.ts';
import { writeQuickstartImage } from '../../support/images/quickstart.ts';
import { seededRandom } from '../../support/random.ts';

const missing = await realRuntimeMissing();
const random = seededRandom();
const bridge = `gtlr${process.pid}`;
const subnet = freeSubnet();

const programs = buildPrograms();

const names = Array.from({ length: 12 }, (_, number) => `c${number}`);
const manifest = `
kind: storage_pool
name: p1
driver: dir
---
kind: network
name: ${bridge}
config: { ipv4.address: ${subnet}.1/24, ipv6.address: none }
---
kind: profile
name: small
devices:
  root: { type: disk, path: /, pool: p1 }
  eth0: { type: nic, nictype: bridged, parent: ${bridge}, name: eth0 }
---
kind: storage_volume
pool: p1
name: data
config: { user.owner: db }
---
kind: image
name: base
file: image.tar.gz
aliases: [base]
${names
  .map(
    (name) => `---
kind: container
name: ${name}
profiles: [small]
source: { type: image, alias: base }
state: ${name === 'c0' ? 'running' : 'stopped'}
`,
  )
  .join('')}`;

describe.each(['sim', 'lxc'] as const)('a daemon on the runtime %s', (runtime) => {
  test.skipIf(runtime === 'lxc' && missing !== undefined)(
    'is killed again and again while it recovers lost records, and has all of them in the end',
    { timeout: 300_000 },
    async () => {
      const dir = mkdtempSync(join(realpathSync(tmpdir()), 'gtlr-'));
      writeQuickstartImage(join(dir, 'image.tar.gz'));
      writeFileSync(join(dir, 'stack.yaml'), manifest);
      const gantryd = await startGantryd(programs, { runtime });
      const gantry = (...args: string[]): Promise<Ran> =>
        runGantry(programs, [...args, '-f', join(dir, 'stack.yaml'), '--host', gantryd.host]);
      const recover = (...args: string[]): Promise<Ran> =>
        runProcess([process.execPath, programs.gantryd, 'recover', '--state-dir', gantryd.dir, ...args]);
      try {
        const applied = await gantry('apply', '--auto-approve');
        expect(applied.code, applied.stdout + applied.stderr).toBe(0);
        for (const name of ['s1', 's2']) await done(gantryd, 'POST', '/1.0/containers/c1/snapshots', { name });
        const pid = await pidOf(gantryd);
        await gantryd.stop();
        rmSync(join(gantryd.dir, 'database'), { recursive: true });
        await gantryd.start();
        expect(gantryd.log).toContain('gantryd recover');

        const looked = await recover();
        expect([looked.code, looked.stderr]).toEqual([0, '']);
        expect(looked.stdout).toContain('Can recover 12 containers: c0, c1');
        expect(await gantryd.get('/1.0/containers')).toEqual([]);
        for (let time = 0; time < 4; time += 1) {
          const cut = recover('--yes');
          await sleep(100 + Math.floor(random.next() * 150));
          await gantryd.kill();
          await cut;
          await gantryd.start();
        }
        const last = await recover('--yes');
        expect([last.code, last.stderr]).toEqual([0, '']);
        expect(await gantryd.get('/1.0/containers/c1/snapshots')).toHaveLength(2);
        expect(await pidOf(gantryd)).toEqual(runtime === 'lxc' ? pid : expect.any(Number));

        const plan = await gantry('plan', '--detailed-exitcode');
        expect({ code: plan.code, seed: random.seed }, plan.stdout + plan.stderr).toMatchObject({ code: 0 });
        await done(gantryd, 'PUT', '/1.0/containers/c1/state', { action: 'start' });
        expect((await recover()).stdout).toContain('Nothing is missing');
      } finally {
        await remove(gantryd, [bridge]);
        rmSync(dir, { recursive: true, force: true });
      }
    },
  );
});

const pidOf = async (gantryd: Gantryd): Promise<number> =>
  ((await gantryd.get('/1.0/containers/c0/state')) as { readonly pid: number }).pid;
