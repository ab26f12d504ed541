// Trouble during a run, through the command line: endless concurrent writes, wrong clocks, daemons that stop, refused objects.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { troubled, type BreakingProxy, type Trouble } from '../../support/daemons/breaking-proxy.ts';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { containerWith, openBench, profileWith, type Bench } from '../../support/cli/daemon-with-manifests.ts';

let bench: Bench;
let original: Bench['parts'];
let proxy: BreakingProxy | undefined;
beforeAll(async () => {
  bench = await openBench('sim');
  original = bench.parts;
});
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
  bench.parts = original;
});
afterAll(() => bench.close());

const profile = '/1.0/profiles/small';
const day = 24 * 60 * 60 * 1000;

/** Through a proxy that causes failures. */
async function gantry(trouble: Trouble, args: readonly string[], setting: CliSetting = {}): Promise<CliRun> {
  await proxy?.close();
  proxy = await troubled(bench.daemon.socketPath, trouble);
  writeFileSync(join(bench.dir, 'stack.yaml'), Object.values(bench.parts).join('---\n'));
  return cli([...args, '-f', join(bench.dir, 'stack.yaml'), '--host', proxy.host], setting);
}

const memory = async (): Promise<string> => (await bench.get(profile)).config['limits.memory'] as string;
const wanted = (size: string): void => {
  bench.parts = { ...original, profile: profileWith('').replace('64MiB', size) };
};

describe('another writer', () => {
  test('a writer who never stops is reported, and none of its values is overwritten', async () => {
    wanted('66MiB');
    let storms = 0;
    const meddle = async (change: string): Promise<void> => {
      if (change !== `PUT ${profile}`) return;
      storms += 1;
      await bench.daemon.call('PATCH', profile, { config: { 'user.storm': `never ${storms}` } });
    };
    const run = await gantry({ meddle }, ['apply', '--auto-approve']);
    expect(run.code, run.stdout).toBe(3);
    expect(run.stderr).toMatch(/cannot update profile\/small\n +others keep changing it: 5 writes in a row/);
    expect((await bench.get(profile)).config['user.storm']).toBe(`never ${storms}`);
    expect(await memory()).toBe('64MiB');
    await bench.apply();
    expect(await memory()).toBe('66MiB');
  });
});

describe('a wrong clock', () => {
  for (const [what, byMs] of [
    ['ahead', day],
    ['behind', -day],
  ] as const) {
    test(`a day ${what} changes neither plan nor apply nor the resulting state`, async () => {
      wanted(byMs > 0 ? '71MiB' : '72MiB');
      const run = await gantry({}, ['apply', '--auto-approve'], { nowMs: () => Date.now() + byMs });
      expect(run.code, run.stderr).toBe(0);
      expect(await memory()).toBe(byMs > 0 ? '71MiB' : '72MiB');
      await bench.expectSettled();
      const again = await gantry({}, ['plan', '--detailed-exitcode'], { nowMs: () => Date.now() + byMs });
      expect(again.code).toBe(0);
    });
  }

  test('a wrong clock of a lock holder does not shorten the wait of others, or let them take a valid lock', async () => {
    const host = ['--host', `unix://${bench.daemon.socketPath}`];
    for (const byMs of [day, 0]) {
      const held = await cli(['lock', '--for', '1h', '--reason', 'a talk', ...host], {
        nowMs: () => Date.now() + byMs,
      });
      expect(held.code, held.stderr).toBe(0);
      wanted('73MiB');
      const run = await gantry({}, ['apply', '--auto-approve'], { nowMs: () => Date.now() - day });
      expect(run.code, run.stderr).toBe(5);
      expect(run.stderr).toContain('a talk');
      expect((await cli(['force-unlock', '-y', ...host])).code).toBe(0);
    }
    expect(await memory()).not.toBe('73MiB');
  });
});

describe('a daemon that stops', () => {
  test('a daemon that stops in the middle ends the run with 7 and a hint; the next apply continues', async () => {
    await bench.apply();
    bench.parts = { ...original, more: containerWith('').replace('c1', 'gone') };
    // Lock and creation: the connection breaks before the answer.
    const run = await gantry({ cut: { at: 1, how: 'after' } }, ['apply', '--auto-approve']);
    expect(run.code, run.stderr).toBe(7);
    expect(run.stderr).toContain('cannot create container/gone');
    expect(run.stderr).toContain('apply again: completed steps stay');
    await bench.settle();
    expect((await bench.life('gone')).status).toBe('Running');
  });
});

describe('objects that every daemon refuses', () => {
  test('invalid object names are reported with their place, and no change is sent', async () => {
    for (const name of ['x'.repeat(65), 'a/b', 'a:b', 'a,b', 'ä', '-a', '..']) {
      bench.parts = { ...original, bad: `kind: container\nname: ${JSON.stringify(name)}\nsource: { type: none }\n` };
      const run = await gantry({}, ['apply', '--auto-approve']);
      expect(run.code, name).toBe(1);
      expect(run.stderr, name).toMatch(/--> .*stack\.yaml:\d+:\d+/);
      expect(proxy?.changes, name).toEqual([]);
    }
    bench.parts = {
      ...original,
      good: `kind: container\nname: ${'x'.repeat(63)}\nsource: { type: none }\nprofiles: [small]\nstate: stopped\n`,
    };
    expect((await gantry({}, ['plan'])).code).toBe(0);
  });

  test('a value above the limit of a daemon is refused by it with its name, and all other changes are made', async () => {
    bench.parts = {
      ...original,
      long: `kind: profile\nname: long\nconfig: { user.long: ${'x'.repeat(2 * 1024 * 1024)} }\n`,
      other: 'kind: profile\nname: other\n',
    };
    const run = await gantry({}, ['apply', '--auto-approve']);
    expect(run.code, run.stdout.slice(0, 2000)).toBe(1);
    expect(run.stderr).toContain('cannot create profile/long');
    expect(run.stderr.length).toBeLessThan(20_000);
    expect(await bench.get('/1.0/profiles')).toContain('/1.0/profiles/other');
    expect(await bench.get('/1.0/profiles')).not.toContain('/1.0/profiles/long');
  });
});
