// SIGKILL at random moments, of the daemon and of gantry, during an apply or a destroy. The next apply must converge, and leave nothing
// behind, on disk or on the host. GANTRY_SEED repeats a run, GANTRY_ROUNDS sets the number of rounds.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { Records } from '../../../server/records/records.ts';
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { orphans } from '../../support/hosts/orphans.ts';
import { buildPrograms, runGantry } from '../../support/cli/programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';
import { writeQuickstartImage } from '../../support/images/quickstart.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom, type Random } from '../../support/random.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const subnet = freeSubnet();

const missing = await realRuntimeMissing();
const rounds = (usual: number): number => Number(process.env['GANTRY_ROUNDS'] ?? usual);
const network = 'gtec0';
const containers = isLongRun ? ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'] : ['c1', 'c2', 'c3'];

const programs = buildPrograms();
const work = tempFolder('gtec-');
beforeAll(() => writeStack('sim', smallImage));

function writeStack(name: string, makeImage: (path: string) => void): void {
  const dir = join(work, name);
  mkdirSync(dir, { recursive: true });
  makeImage(join(dir, 'image.tar.gz'));
  // A second container would show no more, and take longer.
  const inside = `files:
  - { path: /etc/app/c1.conf, content: "number c1" , mode: "0600" }
  - { path: /etc/app/link, target: c1.conf }
exec:
  - { name: setup, command: [cat, /etc/app/c1.conf] }
  - { name: reload, command: [cat, /etc/app/link], on_change: [/etc/app] }
snapshots: [{ name: fresh }]
`;
  const container = (of: string): string => `---
kind: container
name: ${of}
profiles: [small]
source: { type: image, alias: base }
config: { user.number: "${of}" }
${of === 'c1' ? inside : ''}`;
  writeFileSync(
    join(dir, 'stack.yaml'),
    `kind: storage_pool
name: p1
driver: dir
---
kind: network
name: ${network}
config: { ipv4.address: ${subnet}.1/24, ipv4.nat: true, ipv6.address: none }
---
kind: profile
name: small
config: { limits.memory: 64MiB }
devices:
  root: { type: disk, path: /, pool: p1 }
  eth0: { type: nic, nictype: bridged, parent: ${network} }
---
kind: image
name: base
file: image.tar.gz
aliases: [base]
${containers.map(container).join('')}`,
  );
}

/** The simulation starts no processes, but some files give a kill a window. */
function smallImage(path: string): void {
  const content = join(work, 'content');
  mkdirSync(join(content, 'rootfs', 'bin'), { recursive: true });
  for (let count = 0; count < 60; count++)
    writeFileSync(join(content, 'rootfs', 'bin', `tool${count}`), 'x'.repeat(100));
  writeFileSync(join(content, 'metadata.yaml'), 'architecture: x86_64\ncreation_date: 1700000000\n');
  execFileSync('tar', ['-czf', path, '-C', content, 'metadata.yaml', 'rootfs']);
}

const stackOf = (gantryd: Gantryd): readonly string[] => ['-f', join(work, gantryd.runtime), '--host', gantryd.host];
const gantry = (gantryd: Gantryd, verb: string, ...more: readonly string[]): Promise<CliRun> =>
  cli([verb, ...stackOf(gantryd), ...more]);
const output = (run: CliRun): string => `${run.stdout}\n${run.stderr}`;

/** Exit code and planned changes: both must show an empty plan. */
async function expectConverged(gantryd: Gantryd, verb: 'apply' | 'destroy', when: string): Promise<void> {
  const again = await gantry(gantryd, verb, '--auto-approve');
  expect(again.code, `${when}: ${verb} again\n${output(again)}\n${gantryd.log}`).toBe(0);
  const plan = await gantry(gantryd, 'plan', '--detailed-exitcode', ...(verb === 'destroy' ? ['--destroy'] : []));
  expect(plan.code, `${when}: a plan after ${verb}\n${output(plan)}`).toBe(0);
  expect(await orphans(gantryd, [network]), `${when}: left over\n${gantryd.log}`).toEqual([]);
  const shown = (await gantryd.get('/1.0/containers?recursion=1')) as { name: string; status: string }[];
  const wanted = verb === 'destroy' ? [] : containers.map((name) => `${name} Running`);
  expect(shown.map(({ name, status }) => `${name} ${status}`).sort(), when).toEqual(wanted);
}

async function timed(work: () => Promise<CliRun>): Promise<number> {
  const startedAt = performance.now();
  const run = await work();
  expect(run.code, output(run)).toBe(0);
  return performance.now() - startedAt;
}

/** The verb, with the daemon killed at some moment of it, and the daemon restarted. 7: unreachable; 0: the kill came too late. */
async function interrupted(gantryd: Gantryd, verb: 'apply' | 'destroy', killAtMs: number, when: string): Promise<void> {
  const running = gantry(gantryd, verb, '--auto-approve');
  await sleep(killAtMs);
  await gantryd.kill();
  const run = await running;
  expect([0, 7], `${when}: ${verb} with the daemon killed after ${killAtMs} ms\n${output(run)}`).toContain(run.code);
  await gantryd.start();
}

async function killDaemonRounds(gantryd: Gantryd, count: number, random: Random): Promise<void> {
  // Without a kill, to measure its duration; on the simulation twice, since some actions take long only the first time.
  if (gantryd.runtime === 'sim')
    for (const verb of ['apply', 'destroy']) await timed(() => gantry(gantryd, verb, '--auto-approve'));
  const applyMs = await timed(() => gantry(gantryd, 'apply', '--auto-approve'));
  const destroyMs = await timed(() => gantry(gantryd, 'destroy', '--auto-approve'));
  for (let round = 1; round <= count; round++) {
    const when = `seed ${random.seed}, ${gantryd.runtime} round ${round}`;
    await interrupted(gantryd, 'apply', random.next() * applyMs, when);
    await expectConverged(gantryd, 'apply', when);
    await interrupted(gantryd, 'destroy', random.next() * destroyMs, when);
    await expectConverged(gantryd, 'destroy', when);
  }
}

/** State that no call returns: intents of half-done changes, and records that the API does not list. */
async function expectEmptyStore(gantryd: Gantryd): Promise<void> {
  await gantryd.stop();
  const store = await openSqliteStore({ path: join(gantryd.dir, 'database', 'state.db') });
  try {
    const records = await Records.open(store);
    const { sagas, containers: machines, images, aliases, networks, pools, profiles } = records;
    const left = [sagas, machines, images, aliases, networks, pools].flatMap((kind) =>
      kind.list().map(({ name }) => name),
    );
    expect(left).toEqual([]);
    expect(profiles.list().map(({ name }) => name)).toEqual(['default']);
  } finally {
    await store.close();
  }
}

/** A separate one for each lane: a round mostly waits, gantry for a killed daemon, the daemon for a client. */
async function inLanes(lanes: number, work: (gantryd: Gantryd) => Promise<void>): Promise<void> {
  const working = Array.from({ length: lanes }, async () => {
    const gantryd = await startGantryd(programs, { runtime: 'sim' });
    try {
      await work(gantryd);
      await expectEmptyStore(gantryd);
    } finally {
      await remove(gantryd, []);
    }
  });
  // Waits for all, so that successful ones are cleaned up too.
  for (const lane of await Promise.allSettled(working)) if (lane.status === 'rejected') throw lane.reason;
}

describe('a daemon killed at random moments', () => {
  // Real containers show the same, and more; a long run has both.
  const isShown = missing === undefined && !isLongRun;
  test.skipIf(isShown)('loses nothing and leaves nothing behind on the simulation', { timeout: 300_000 }, async () => {
    const random = seededRandom();
    console.log(`kills of the daemon on the simulation: seed ${random.seed}`);
    const lanes = isLongRun ? 4 : 1;
    await inLanes(lanes, (gantryd) => killDaemonRounds(gantryd, Math.ceil(rounds(lanes) / lanes), random));
  });

  test.skipIf(missing !== undefined)(
    'loses nothing and leaves nothing behind on real containers',
    { timeout: 600_000 },
    async () => {
      const random = seededRandom();
      console.log(`kills of the daemon with real containers: seed ${random.seed}`);
      writeStack('lxc', writeQuickstartImage);
      await withRealNetwork(network, async () => {
        const gantryd = await startGantryd(programs, { runtime: 'lxc' });
        try {
          await killDaemonRounds(gantryd, rounds(isLongRun ? 4 : 1), random);
          await expectEmptyStore(gantryd);
          expect(hostParts(gantryd.dir, [network])).toEqual(nothing);
        } finally {
          await remove(gantryd, [network]);
        }
      });
    },
  );
});

describe('gantry killed at random moments', () => {
  test('continues when it is run again', async () => {
    const random = seededRandom();
    console.log(`kills of gantry: seed ${random.seed}`);
    await inLanes(isLongRun ? 2 : 1, async (gantryd) => {
      const whole = await runGantry(programs, ['apply', ...stackOf(gantryd), '--auto-approve']);
      expect(whole.code, whole.stderr).toBe(0);
      await timed(() => gantry(gantryd, 'destroy', '--auto-approve'));
      for (let round = 1; round <= rounds(isLongRun ? 2 : 1); round++) {
        const when = `seed ${random.seed}, round ${round}`;
        // The daemon gets no request while node still loads.
        const killAtMs = (0.2 + 0.8 * random.next()) * whole.elapsedMs;
        const killed = await runGantry(programs, ['apply', ...stackOf(gantryd), '--auto-approve'], {
          started: (child) => void sleep(killAtMs).then(() => child.kill('SIGKILL')),
        });
        expect(killed.signal ?? killed.code, when).toSatisfy((end) => end === 'SIGKILL' || end === 0);
        await expectConverged(gantryd, 'apply', when);
        await expectConverged(gantryd, 'destroy', when);
      }
    });
  });
});
