// The promise about crashes: whenever the daemon is killed, acknowledged changes exist after a restart, and none is half done.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { call, hostRemains, makeDaemon, realRuntimeMissing, type Json } from '../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { isLongRun } from '../../support/left-out.ts';
import { type Random, seededRandom } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const subnet = freeSubnet();

const bundle = bundleDaemon();
const missing = await realRuntimeMissing();

/** The expected state of a container: unknown after an action that was in progress when the daemon died. */
type Known = 'absent' | 'Stopped' | 'Running' | 'Frozen' | 'unknown';

interface World {
  readonly runtime: 'sim' | 'lxc';
  readonly dir: string;
  readonly known: Map<string, Known>;
  readonly random: Random;
  readonly create: (name: string) => object;
}

const actions: Readonly<Record<Exclude<Known, 'unknown'>, readonly (readonly [action: string, then: Known])[]>> = {
  absent: [['create', 'Stopped']],
  Stopped: [
    ['start', 'Running'],
    ['start', 'Running'],
    ['patch', 'Stopped'],
    ['delete', 'absent'],
  ],
  Running: [
    ['stop', 'Stopped'],
    ['restart', 'Running'],
    ['freeze', 'Frozen'],
    ['patch', 'Running'],
  ],
  Frozen: [
    ['unfreeze', 'Running'],
    ['stop', 'Stopped'],
  ],
};

async function step(world: World, daemon: ChildDaemon, name: string): Promise<void> {
  const now = world.known.get(name) ?? 'absent';
  if (now === 'unknown') throw new Error(`nothing is known of ${name}`);
  const choices = actions[now];
  const [action, then] = choices[Math.floor(world.random.next() * choices.length)] ?? ['create', 'Stopped'];
  world.known.set(name, 'unknown');
  const path = `/1.0/containers/${name}`;
  const { status, operation } =
    action === 'create'
      ? await settle(daemon, 'POST', '/1.0/containers', world.create(name))
      : action === 'delete'
        ? await settle(daemon, 'DELETE', path)
        : action === 'patch'
          ? await settle(daemon, 'PATCH', path, { description: `p${Math.floor(world.random.next() * 1000)}` })
          : await settle(daemon, 'PUT', `${path}/state`, { action, force: action === 'stop' || action === 'restart' });
  if (status >= 300 || (operation !== undefined && operation.status !== 'Success')) {
    throw new Failed(`${action} of ${name}, which was ${now}, answered ${status} ${operation?.err ?? ''}`);
  }
  world.known.set(name, then);
}

/** The daemon answered with a failure: never expected. */
class Failed extends Error {}

async function client(
  world: World,
  daemon: ChildDaemon,
  names: readonly string[],
  isDead: () => boolean,
): Promise<void> {
  for (let turn = 0; !isDead(); turn += 1) {
    try {
      await step(world, daemon, names[turn % names.length] ?? '');
    } catch (error) {
      if (error instanceof Failed || !isDead()) throw error;
      return;
    }
  }
}

async function killUnderLoad(
  world: World,
  daemon: ChildDaemon,
  clients: readonly (readonly string[])[],
  afterMs: number,
): Promise<void> {
  let isDead = false;
  const working = clients.map((names) => client(world, daemon, names, () => isDead));
  const outcome = Promise.allSettled(working);
  // A busy machine acknowledges nothing in the first moments, and there would be nothing to lose.
  const begun = until(() => [...world.known.values()].some((known) => !['absent', 'unknown'].includes(known)));
  await Promise.race([begun.then(() => sleep(afterMs)), outcome]);
  isDead = true;
  process.kill(daemon.pid, 'SIGKILL');
  await daemon.exited;
  for (const each of await outcome) if (each.status === 'rejected') throw each.reason;
}

/** Records, volumes, runtime, interfaces and mounts agree with each other and with the acknowledged state. */
async function expectWhole(world: World, daemon: ChildDaemon): Promise<void> {
  // A container whose stop or restart was cut off is started again: autostart decides.
  let containers: Json[] = [];
  await until(async () => {
    containers = (await read(daemon, '/1.0/containers?recursion=2')) as Json[];
    return containers.every((each) =>
      each.status === 'Stopped'
        ? each.config['volatile.last_state.power'] !== 'RUNNING'
        : ['Running', 'Frozen'].includes(each.status as string),
    );
  });
  const names = containers.map((each) => each.name as string).toSorted();
  const pool = join(world.dir, 'storage-pools/default');
  expect(readdirSync(join(pool, 'containers')).toSorted(), 'volumes').toEqual(names);
  // Deleted files are unlinked after the answer.
  await until(() => readdirSync(join(pool, 'tmp')).length === 0);
  for (const [name, known] of world.known) {
    const found = containers.find((each) => each.name === name);
    const shown: Known = found === undefined ? 'absent' : (found.status as Known);
    if (known !== 'unknown') expect([name, shown], 'acknowledged').toEqual([name, known]);
    world.known.set(name, shown);
  }
  // A container in creation or deletion would refuse.
  for (const name of names)
    expect((await call(daemon, 'PATCH', `/1.0/containers/${name}`, { description: 'whole' })).status).toBe(200);
  const running = containers.filter((each) => each.status !== 'Stopped');
  for (const each of running) {
    expect(each.config['volatile.last_state.power'], each.name as string).toBe('RUNNING');
    expect(each.state.pid).toBeGreaterThan(0);
  }
  if (world.runtime === 'sim') {
    const files = readdirSync(join(world.dir, 'runtime')).filter((file) => file.endsWith('.json'));
    expect(files.length, 'simulated containers').toBe(running.length);
    return;
  }
  for (const each of running) expect(existsSync(`/proc/${each.state.pid}/ns`), `init of ${each.name}`).toBe(true);
  // Every interface that is a port of our bridge belongs to a running container.
  const ports = existsSync(`/sys/class/net/${bridge}/brif`) ? readdirSync(`/sys/class/net/${bridge}/brif`) : [];
  const expected = running.map((each) => each.state.network.eth0?.host_name as string);
  expect(ports.toSorted(), 'interfaces').toEqual(expected.toSorted());
  const stoppedMounts = hostRemains(world.dir).filter((line) =>
    names.some((name) => line.includes(`/containers/${name}/`)),
  );
  for (const line of stoppedMounts)
    expect(
      running.some((each) => line.includes(`/containers/${each.name}/`)),
      line,
    ).toBe(true);
}

const bridge = `gtyak${process.pid % 1000}`;

describe('a daemon on the simulation', () => {
  test('killed again and again under load loses no object and leaves none half made', async () => {
    const dir = tempFolder('gtya-kill-');
    const random = seededRandom();
    console.log(`kill test on the simulation: seed ${random.seed}`);
    const world: World = {
      runtime: 'sim',
      dir,
      known: new Map(),
      random,
      create: (name) => ({ name, source: { type: 'none' } }),
    };
    const clients = [0, 1, 2, 3].map((who) => [0, 1, 2].map((each) => `k${who}-${each}`));
    let daemon: ChildDaemon | undefined;
    try {
      daemon = await startChild(bundle, dir, 'sim');
      await call(daemon, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
      await call(daemon, 'PUT', '/1.0/profiles/default', {
        devices: { root: { type: 'disk', path: '/', pool: 'default' } },
      });
      for (let round = 0; round < (isLongRun ? 10 : 2); round += 1) {
        await killUnderLoad(world, daemon, clients, 30 + world.random.next() * 250);
        daemon = await startChild(bundle, dir, 'sim');
        await expectWhole(world, daemon);
      }
      expect([...world.known.values()].filter((known) => known !== 'absent').length).toBeGreaterThan(0);
    } finally {
      await daemon?.kill('SIGKILL');
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe.skipIf(missing !== undefined)('a daemon with real containers', () => {
  test('killed under load loses no object and leaves none half made', async () => {
    const dir = tempFolder('gtya-killx-');
    const random = seededRandom();
    console.log(`kill test with real containers: seed ${random.seed}`);
    const built = await buildBusyboxImage(join(dir, 'image-source'), { busybox: { dhcp: false } });
    const image = { type: 'image', fingerprint: built.fingerprint };
    const world: World = { runtime: 'lxc', dir, known: new Map(), random, create: (name) => ({ name, source: image }) };
    const clients = [
      ['x0', 'x1'],
      ['x2', 'x3'],
    ];
    let daemon: ChildDaemon | undefined;
    try {
      daemon = await startChild(bundle, dir, 'lxc');
      await call(daemon, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
      expect(
        (
          await call(daemon, 'POST', '/1.0/networks', {
            name: bridge,
            config: { 'ipv4.address': `${subnet}.1/24`, 'ipv6.address': 'none', 'ipv4.nat': 'false' },
          })
        ).status,
      ).toBe(200);
      const eth0 = { type: 'nic', nictype: 'bridged', parent: bridge, name: 'eth0' };
      await call(daemon, 'PUT', '/1.0/profiles/default', {
        devices: { root: { type: 'disk', path: '/', pool: 'default' }, eth0 },
      });
      expect((await settle(daemon, 'POST', '/1.0/images', await readFile(built.metadataPath))).operation?.status).toBe(
        'Success',
      );
      for (let round = 0; round < (isLongRun ? 4 : 1); round += 1) {
        await killUnderLoad(world, daemon, clients, 300 + world.random.next() * 900);
        daemon = await startChild(bundle, dir, 'lxc');
        await expectWhole(world, daemon);
      }
    } finally {
      if (daemon !== undefined) await daemon.kill('SIGKILL').catch(() => {});
      // A second deletion removes whatever is left.
      const last = await makeDaemon({ runtime: 'lxc', dir });
      await last.cleanUp();
      expect(existsSync(`/sys/class/net/${bridge}`)).toBe(false);
      expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(dir);
      expect(execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' })).not.toContain(bridge);
    }
  });
});
