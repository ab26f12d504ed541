// Two controllers of one name: which one is active while their hosts change or a host is away, and what the second one knows of the first.
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Reloader } from '../../../reconciler/controller/reload/reloader.ts';
import { lockKey } from '../../../reconciler/core/ownership/set-state.ts';
import { ownLocks, lockIn, newLock, type Lock } from '../../../reconciler/engine/notes/lock.ts';
import {
  openControllerWorld,
  profileText,
  simpleConfig,
  waitMs,
  type Beside,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const lockSet = 'controller-main';
let world: ControllerWorld;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  world = await openControllerWorld(4);
  await world.write('a.yaml', profileText('web', { 'user.note': 'a' }));
});
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await world.close();
});

/** Writes a hosts file as editors do, by replacing it. Negative numbers are unreachable hosts. */
async function hosts(file: string, ...numbers: readonly number[]): Promise<void> {
  const addressOf = (at: number): string => world.daemons[at - 1]?.host ?? `unix://${world.folder}/no-socket${at}`;
  const lines = numbers.map((at) => `  - { name: h${Math.abs(at)}, address: "${addressOf(at)}" }`);
  await writeFile(join(world.folder, `${file}.new`), `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
  await rename(join(world.folder, `${file}.new`), join(world.folder, file));
}

const configOf = (name: string, stateDir: string): string =>
  `controller: { stateDir: ${stateDir} }\n${simpleConfig().replace('hosts.yaml', `${name}-hosts.yaml`)}`;

async function opened(name: string, stateDir: string, ...numbers: readonly number[]): Promise<Beside> {
  await hosts(`${name}-hosts.yaml`, ...numbers);
  return world.beside(`${name}.yaml`, configOf(name, stateDir));
}

const isActive = ({ engine }: Beside): boolean => engine.overview().controller.isActive;
const noteOn = async (host: number): Promise<string | undefined> => (await world.profile(host, 'web'))?.['user.note'];
const lockOn = async (host: number): Promise<Lock | undefined> => {
  const server = await world.daemons[host - 1]?.client.server();
  return lockIn(server?.metadata.config ?? {}, lockSet);
};
const heal = async (host: number): Promise<void> => {
  await world.meddle(host, 'web', { 'user.note': 'by hand' });
  await until(async () => (await noteOn(host)) === 'a', waitMs);
};

/** Counts how often both were active at the same time. */
function watched(...all: readonly Beside[]): { readonly both: () => number; readonly none: () => number } {
  const counts = { both: 0, none: 0 };
  const timer = setInterval(() => {
    const active = all.filter(isActive).length;
    if (active > 1) counts.both += 1;
    if (active === 0) counts.none += 1;
  }, 5);
  ends.push(() => clearInterval(timer));
  return { both: () => counts.both, none: () => counts.none };
}

/** Waits until a lock was renewed, during which the other controller tries several times. */
async function renewed(host: number): Promise<void> {
  const before = (await lockOn(host))?.beat ?? 0;
  await until(async () => ((await lockOn(host))?.beat ?? 0) > before, waitMs);
}

describe('two controllers', () => {
  test('are never active together while the lock moves from one host to three, whichever learns of it first', async () => {
    const one = await opened('one', 'one', 1, 2);
    await until(() => isActive(one), waitMs);
    await until(async () => (await noteOn(2)) === 'a', waitMs);
    const two = await opened('two', 'two', 1, 2);
    await until(() => two.engine.isReady(), waitMs);
    const seen = watched(one, two);
    // The second one learns of three hosts first, and two of their locks are free.
    await hosts('two-hosts.yaml', 1, 2, 3);
    await new Reloader(two).reload();
    await renewed(1);
    expect([isActive(one), isActive(two), await lockOn(2), await lockOn(3)]).toEqual([
      true,
      false,
      undefined,
      undefined,
    ]);
    await hosts('one-hosts.yaml', 1, 2, 3);
    await new Reloader(one).reload();
    await until(async () => (await lockOn(3)) !== undefined, waitMs);
    expect([isActive(one), isActive(two)]).toEqual([true, false]);
    await until(async () => (await noteOn(3)) === 'a', waitMs);
    // One host of three makes way for another one.
    await hosts('two-hosts.yaml', 2, 3, 4);
    await new Reloader(two).reload();
    await renewed(2);
    await hosts('one-hosts.yaml', 2, 3, 4);
    await new Reloader(one).reload();
    await until(async () => (await lockOn(4)) !== undefined && (await lockOn(1)) === undefined, waitMs);
    expect([isActive(one), isActive(two), seen.both(), seen.none()]).toEqual([true, false, 0, 0]);
    await until(async () => (await noteOn(4)) === 'a', waitMs);
    const goneMs = Date.now();
    await one.engine.close();
    await until(() => isActive(two), waitMs);
    expect(Date.now() - goneMs).toBeLessThan(15_000);
    await heal(4);
    expect(seen.both()).toBe(0);
  });

  test('a controller with too few locks releases them, so that two that start together do not block each other', async () => {
    // The third host is away, and a holder that never gets a second lock has the lock of the second host.
    await world.daemons[2]?.close();
    ownLocks.add('rival');
    ends.push(() => ownLocks.delete('rival'));
    const lock = async (text: string): Promise<unknown> =>
      world.daemons[1]?.client.patchServer({ config: { [lockKey(lockSet)]: text } });
    await lock(JSON.stringify(newLock('rival', Date.now(), 600_000)));
    // It locks the first host before it learns of the rival, or not at all.
    const one = await opened('one', 'one', 1, 2, 3);
    await until(() => one.engine.isReady(), waitMs);
    await until(async () => (await lockOn(1)) === undefined, waitMs);
    expect(isActive(one)).toBe(false);
    await lock('');
    await until(() => isActive(one), waitMs);
    await until(async () => (await noteOn(2)) === 'a', waitMs);
  });

  test('a host refuses a set that a controller with other hosts applies there, until it is taken over', async () => {
    const one = await opened('one', 'one', 1, 3);
    await until(async () => (await noteOn(3)) === 'a', waitMs);
    await mkdir(join(world.folder, 'others'));
    await writeFile(join(world.folder, 'others/a.yaml'), profileText('web', { 'user.note': 'b' }));
    await hosts('two-hosts.yaml', 2, 3);
    const two = await world.beside('two.yaml', configOf('two', 'two').replace('path: manifests', 'path: others'));
    const notes = new Set<string | undefined>();
    const webOn = ({ engine }: Beside, name: string) =>
      engine.overview().sets[0]?.hosts.find(({ host }) => host === name);
    await until(async () => {
      notes.add(await noteOn(3));
      return webOn(two, 'h3')?.status === 'failed' && (await noteOn(2)) === 'b';
    }, waitMs);
    expect(webOn(two, 'h3')?.error).toMatch(
      /another controller has the set web on this host: main of \w+@\S+, since 20.*, with its lock on h1\. .* --take-over$/,
    );
    expect([isActive(one), isActive(two), ...notes]).toEqual([true, true, 'a']);
    await heal(3);
    await two.engine.sync('web', { takeOver: true, reason: 'moved' }, 'ann');
    await until(async () => (await noteOn(3)) === 'b' && webOn(two, 'h3')?.status === 'synced', waitMs);
    await until(() => webOn(one, 'h3')?.error?.includes('with its lock on h2') === true, waitMs);
    expect(await noteOn(3)).toBe('b');
  });

  test('a set that leaves one controller can be applied by another at once', async () => {
    const one = await opened('one', 'one', 1, 3);
    await until(async () => (await noteOn(3)) === 'a', waitMs);
    // Another set with the same objects would refuse the later change, or be refused it.
    await mkdir(join(world.folder, 'others'), { recursive: true });
    await writeFile(join(world.folder, 'others/a.yaml'), profileText('spare', {}));
    const left = configOf('one', 'one').replace('name: web', 'name: other').replace('path: manifests', 'path: others');
    await writeFile(join(world.folder, 'one.yaml'), left);
    await new Reloader(one).reload();
    await world.write('a.yaml', profileText('web', { 'user.note': 'b' }));
    await opened('two', 'two', 2, 3);
    await until(async () => (await noteOn(3)) === 'b', waitMs);
  });

  test('a controller keeps its sets when its name, address and all lock hosts change', async () => {
    const one = await opened('one', 'same', 1, 3);
    await until(async () => (await noteOn(3)) === 'a', waitMs);
    await one.engine.close();
    await world.write('a.yaml', profileText('web', { 'user.note': 'b' }));
    await hosts('two-hosts.yaml', 2, 3);
    const config = configOf('two', 'same').replace('stateDir: same', 'stateDir: same, name: renamed');
    await world.beside('two.yaml', config);
    await until(async () => (await noteOn(3)) === 'b', waitMs);
  });

  test('the second of two controllers that share a directory respects requests to the first, and writes nothing before it is active', async () => {
    const one = await opened('one', 'both', 1);
    await until(async () => (await noteOn(1)) === 'a', waitMs);
    const two = await opened('two', 'both', 1);
    await until(() => two.engine.isReady(), waitMs);
    await expect(two.engine.suspend('web', { reason: 'x' }, 'ann')).rejects.toThrow(/ is active: ask it/);
    const first = one.engine.overview().sets[0]?.revision ?? '';
    await world.write('a.yaml', profileText('web', { 'user.note': 'b' }));
    await until(async () => (await noteOn(1)) === 'b', waitMs);
    await one.engine.rollback('web', { revision: first, reason: 'b is bad' }, 'ann');
    await until(async () => (await noteOn(1)) === 'a', waitMs);
    const field = { address: 'profile/web', path: 'config.user.other', reason: 'load test' };
    const [made, again] = await Promise.all([
      one.engine.suspend('web', field, 'ann'),
      one.engine.suspend('web', { ...field, path: 'config.user.more' }, 'ann'),
    ]);
    await until(() => one.engine.history('web')[0]?.outcome === 'done', waitMs);
    const runs = one.engine.history('web');
    await one.engine.close();
    await until(() => isActive(two), waitMs);
    await heal(1);
    const { suspensions, revision } = two.engine.overview().sets[0] ?? {};
    expect(suspensions?.map(({ id }) => id)).toEqual([made.id, again.id, 'rollback']);
    expect(revision).toBe(first);
    const later = two.engine.history('web');
    expect(later.slice(-runs.length)).toEqual(runs);
    expect(later.slice(0, -runs.length).map(({ reason }) => reason)).toEqual(['drift']);
  });
});
