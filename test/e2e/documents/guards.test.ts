// Guards against a plan: disruption, recreation, protection; and objects that a plan never changes: other images, keys and objects.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  containerWith,
  openBench,
  packImage,
  profileWith,
  type Bench,
} from '../../support/cli/daemon-with-manifests.ts';

const moved = 'devices: { root: { type: disk, path: /, pool: p2 } }\n';

describe('guards of a plan', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench('sim');
  });
  afterAll(() => bench.close());
  const refused = async (...flags: readonly string[]): Promise<string> => {
    const run = await bench.gantry('apply', '--auto-approve', ...flags);
    expect(run.code, `${run.stdout}\n${run.stderr}`).toBe(4);
    return run.stdout;
  };

  test('disruption: none refuses a restart, also one because of a profile, and --allow-restart permits it', async () => {
    const calm = 'manage: { disruption: none }\n';
    const { pid } = await bench.life();
    bench.parts['container'] = containerWith(`config: { security.nesting: true }\n${calm}`);
    expect(await refused()).toContain('container/c1 would have to restart: config.security.nesting');
    bench.parts['container'] = containerWith(calm);
    bench.parts['profile'] = profileWith('').replace('limits.memory: 64MiB', 'limits.kernel.nproc: 500');
    expect(await refused()).toContain('container/c1 would have to restart: profile/small');
    expect((await bench.life()).pid).toBe(pid);
    await bench.apply('--allow-restart');
  });

  test('a recreation needs permission, and a protected container is not recreated even with it', async () => {
    bench.parts['pool2'] = 'kind: storage_pool\nname: p2\ndriver: dir\n';
    bench.parts['container'] = containerWith(moved);
    expect(await refused()).toContain('would be deleted and created again, its data lost');
    bench.parts['container'] = containerWith('manage: { protect: true }\n');
    await bench.apply();
    bench.parts['container'] = containerWith(`${moved}manage: { protect: true }\n`);
    expect(await refused('--allow-recreate')).toContain('container/c1 is protected');
    // The guard is stored on the container itself, so it outlasts the line in the manifest.
    bench.parts['container'] = containerWith(moved);
    expect(await refused('--allow-recreate')).toContain('container/c1 is protected');
    bench.parts['container'] = containerWith('config: { security.protection.delete: false }\n');
    await bench.apply();
    bench.parts['container'] = containerWith(moved);
    await bench.apply('--allow-recreate');
    await bench.expectSettled();
  });

  test('another file is another image: its aliases move, and containers of the old one stay', async () => {
    const before = await bench.life();
    packImage(bench.dir, 'image.tar.gz', 'two');
    expect(await bench.planned()).toEqual(['image/base: create live', 'image_alias/base: update live']);
    await bench.apply();
    await bench.expectSettled();
    expect(await bench.life()).toEqual(before);
    expect(((await bench.get('/1.0/images')) as string[]).length).toBe(2);
    const run = await bench.gantry('apply', '--auto-approve', '--replace', 'container/c1');
    expect(run.code, run.stderr).toBe(0);
    expect((await bench.life()).born).not.toBe(before.born);
    const rootfs = join(bench.daemon.dir, 'storage-pools', 'p2', 'containers', 'c1', 'rootfs');
    expect(readFileSync(join(rootfs, 'etc', 'mark'), 'utf8')).toBe('two');
  });

  test('undeclared keys, devices, profiles and objects stay', async () => {
    await bench.daemon.call('PATCH', '/1.0/containers/c1', { config: { 'user.theirs': 'x' } });
    await bench.daemon.call('PATCH', '/1.0/profiles/small', { config: { 'user.theirs': 'y' } });
    await bench.daemon.call('POST', '/1.0/profiles', { name: 'foreign', config: {}, devices: {} });
    await bench.expectSettled();
    bench.parts['container'] = containerWith(`${moved}config: { user.ours: z }\n`);
    await bench.apply();
    expect((await bench.get('/1.0/containers/c1')).config).toMatchObject({ 'user.theirs': 'x', 'user.ours': 'z' });
    expect((await bench.get('/1.0/profiles/small')).config).toMatchObject({ 'user.theirs': 'y' });
    const kept = await bench.gantry('destroy', '--auto-approve');
    expect(kept.code, kept.stderr).toBe(0);
    expect(await bench.get('/1.0/profiles')).toContain('/1.0/profiles/foreign');
    const rest = ['images', 'storage-pools', 'containers'].map((kind) => bench.get(`/1.0/${kind}`));
    // The image of the first file was declared earlier, and is not any more: it stays.
    expect(await Promise.all(rest)).toMatchObject([[expect.stringContaining('/1.0/images/')], [], []]);
  });
});
