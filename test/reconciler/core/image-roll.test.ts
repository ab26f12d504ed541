// Updated images: pins of the lock file, which containers follow, and rebuilds, which keep settings, undo failures and continue after
// an interruption at any step.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asideKey, asideName } from '../../../reconciler/core/live/image-updates.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import type { FakeDaemon } from '../../support/fakes/http-daemon.ts';
import { FakeWorld } from '../../support/fakes/client.ts';
import { startWorldDaemon } from '../../support/fakes/world-daemon.ts';
import { fingerprintOf } from '../../support/fakes/worlds.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const [old, next] = [fingerprintOf('old'), fingerprintOf('next')];
let world = new FakeWorld();
let daemon: FakeDaemon;
let folder = '';
beforeEach(async () => {
  world = new FakeWorld();
  for (const fingerprint of [old, next]) world.objects.image.set(fingerprint, { fingerprint, properties: {} });
  point('base', old);
  daemon = await startWorldDaemon(world);
  folder = tempFolder('gantry-roll-');
});
afterEach(() => daemon.stop());

const point = (name: string, target: string): void =>
  void world.objects.image_alias.set(name, { name, target, description: '' });
const run = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, '--host', daemon.host]);
const file = (): string => join(folder, 'main.yaml');
const lockFile = (): string => join(folder, 'gantry.lock');
const write = (image: string, more = ''): void =>
  writeFileSync(
    file(),
    `kind: container
name: c1
source: { type: image, alias: base }
config: { user.a: one, boot.autostart: true }
devices:
  eth0: { type: nic, nictype: p2p, name: eth0 }
  data: { type: disk, source: /srv, path: /data }
manage: { image: ${image}${more} }
`,
  );
interface Made {
  readonly status: string;
  readonly config: Record<string, string>;
  readonly devices: Record<string, Record<string, string>>;
}
const c1 = (): Made => world.objects.container.get('c1') as unknown as Made;
const baseOf = (): string | undefined => c1().config['volatile.base_image'];
const apply = (...flags: readonly string[]): Promise<CliRun> => run('apply', '-y', file(), ...flags);

async function running(image: string, more = ''): Promise<void> {
  write(image, more);
  expect((await apply()).code).toBe(0);
  c1().config['volatile.eth0.hwaddr'] = '00:16:3e:aa:bb:cc';
  c1().config['user.by-hand'] = 'kept';
  world.changes.length = 0;
}

describe('an alias that moved', () => {
  test.each(['none', 'new-only'])('does not affect an existing container with image: %s', async (image) => {
    await running(image);
    point('base', next);
    expect((await run('plan', '--detailed-exitcode', file())).code).toBe(0);
  });

  test('is followed by a rebuild that keeps name, addresses, settings and devices, and says what is lost', async () => {
    await running('rebuild');
    point('base', next);
    const done = await apply();
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toContain('-/+ container/c1 (rebuild)');
    expect(done.stdout).toContain('its root file system is lost');
    expect(baseOf()).toBe(next);
    expect(c1()).toMatchObject({
      status: 'Running',
      config: { 'volatile.eth0.hwaddr': '00:16:3e:aa:bb:cc', 'user.by-hand': 'kept', 'boot.autostart': 'true' },
      devices: { eth0: { type: 'nic' }, data: { source: '/srv' } },
    });
    expect(c1().config[asideKey]).toBeUndefined();
    expect([...world.objects.container.keys()]).toEqual(['c1']);
    expect((await run('plan', '--detailed-exitcode', file())).code).toBe(0);
  });

  test('waits for gantry update when there is a lock file, which also pins new containers', async () => {
    await running('rebuild');
    expect((await run('update', file())).stdout).toContain(`base: ${old.slice(0, 12)}`);
    point('base', next);
    expect((await run('plan', '--detailed-exitcode', file())).code).toBe(0);
    world.objects.container.delete('c1');
    await apply();
    expect(baseOf()).toBe(old);
    expect((await run('update', '--detailed-exitcode', file())).code).toBe(2);
    expect(readFileSync(lockFile(), 'utf8')).toMatch(new RegExp(`base: "?${next}`));
    expect((await run('update', '--detailed-exitcode', file())).code).toBe(0);
    expect((await apply()).code).toBe(0);
    expect(baseOf()).toBe(next);
  });

  test('is followed by deletion and creation with image: recreate', async () => {
    await running('recreate');
    point('base', next);
    expect((await apply()).code).toBe(0);
    expect(world.changes).toEqual([
      'stop by force container/c1',
      'delete container/c1',
      'create container/c1',
      'start container/c1',
    ]);
    expect(baseOf()).toBe(next);
  });

  test('is not followed by a protected container', async () => {
    await running('rebuild', ', protect: true');
    point('base', next);
    expect((await apply()).code).toBe(4);
    expect(baseOf()).toBe(old);
  });
});

describe('a rebuild', () => {
  test('a rebuild that fails puts the old container back as it was, running', async () => {
    await running('rebuild', ', wait: [{ipv4: eth0, timeout: 50ms}]').catch(() => undefined);
    world.addresses.set('c1', '10.0.0.9');
    await apply();
    const before = structuredClone(c1());
    point('base', next);
    world.addresses.clear();
    const failed = await apply();
    expect(failed.code).not.toBe(0);
    expect(failed.stderr).toContain('the old container was restored');
    expect({ ...c1(), last_used_at: '' }).toEqual({ ...before, last_used_at: '' });
    expect([...world.objects.container.keys()]).toEqual(['c1']);
  });

  test('a rebuild that is interrupted at any step is continued by the next run', async () => {
    await running('rebuild');
    const begin = structuredClone(world.objects);
    point('base', next);
    const config = { ...world.config };
    await apply();
    const stages = world.changes.length;
    expect(stages).toBeGreaterThanOrEqual(6);
    for (let stage = 0; stage < stages; stage += 1) {
      for (const [kind, objects] of Object.entries(structuredClone(begin)))
        world.objects[kind as 'container'] = objects;
      world.config = { ...config };
      point('base', next);
      let count = 0;
      // Like a dying daemon: no further calls, not even for the undo.
      world.beforeChange = () => {
        if ((count += 1) > stage) throw new Error('gone');
      };
      world.beforePatch = () => {
        if (count > stage) throw new Error('gone');
      };
      expect((await apply()).code, `stage ${stage}`).not.toBe(0);
      [world.beforeChange, world.beforePatch] = [undefined, undefined];
      const plan = await run('plan', file());
      expect(plan.stdout, `stage ${stage}`).toContain('container/c1 (rebuild)');
      expect(plan.stdout).not.toContain('no longer declared');
      const again = await apply();
      expect(again.code, `stage ${stage}: ${again.stderr}`).toBe(0);
      expect(baseOf()).toBe(next);
      expect(c1()).toMatchObject({
        status: 'Running',
        devices: { eth0: { type: 'nic' } },
        config: { 'boot.autostart': 'true' },
      });
      expect(c1().config['volatile.eth0.hwaddr']).toBe('00:16:3e:aa:bb:cc');
      expect([...world.objects.container.keys()], `stage ${stage}`).toEqual(['c1']);
      expect((await run('plan', '--detailed-exitcode', file())).code, `stage ${stage}`).toBe(0);
    }
  });
});

test('containers whose long names begin alike stand aside under different names', () => {
  const long = 'x'.repeat(60);
  const names = ['a', 'b'].map((end) => asideName(`${long}-${end}`));
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name).toMatch(/^[a-z0-9-]{1,63}$/);
  expect([asideName('c1'), asideName('y'.repeat(52))]).toEqual(['c1-gantry-old', `${'y'.repeat(52)}-gantry-old`]);
});

describe('a lock file', () => {
  test('a lock file that is invalid is reported before the first request to the server', async () => {
    write('rebuild');
    for (const [text, message] of [
      ['version: 2', 'has version 2'],
      ['version: 1\nimages: {base: abc}', 'images.base must be a fingerprint'],
      ['{', 'is not YAML'],
    ] as const) {
      writeFileSync(lockFile(), text);
      const refused = await run('plan', file());
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain(message);
    }
    rmSync(lockFile());
    expect((await run('plan', file(), '--lock-file', join(folder, 'none'))).code).toBe(64);
  });

  test('a lock file that pins an image which the server lacks is an error', async () => {
    write('new-only');
    writeFileSync(lockFile(), `version: 1\nimages: {base: ${fingerprintOf('lost')}}\n`);
    const refused = await run('plan', file());
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`the image ${fingerprintOf('lost')} is neither declared nor on the server`);
  });
});
