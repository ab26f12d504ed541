// Sets on whole servers (gantryd with real containers, a stock LXD): image updates, prune, and a clean end of a set.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  containerWith,
  openBench,
  packImage,
  type Bench,
  type BenchHost,
} from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';

interface Live {
  readonly config: Record<string, string>;
  readonly created_at: string;
}
const live = (bench: Bench, path = 'containers/c1'): Promise<Live> => bench.get(`/1.0/${path}`) as Promise<Live>;
const notes = async (bench: Bench): Promise<readonly string[]> => {
  const { config } = (await bench.get('/1.0')) as { config: Record<string, string> };
  const kept = /^user\.gantry\.(?!history\.|documents\.)/;
  return Object.keys(config).filter((key) => kept.test(key));
};

/** Different from the image before: the same with one more file in it. */
function repack(bench: Bench, host: BenchHost): void {
  if (host === 'sim') return packImage(bench.dir, 'image.tar.gz', 'two');
  const [packed, plain] = [join(bench.dir, 'image.tar.gz'), join(bench.dir, 'image.tar')];
  mkdirSync(join(bench.dir, 'more', 'rootfs'), { recursive: true });
  writeFileSync(join(bench.dir, 'more', 'rootfs', 'mark'), 'two');
  execFileSync('sh', [
    '-c',
    'gunzip -c "$1" > "$2" && tar -rf "$2" -C "$3" rootfs/mark && gzip -c "$2" > "$1"',
    'sh',
    packed,
    plain,
    join(bench.dir, 'more'),
  ]);
}

// In order: each begins with the result of the one before.
describe.each(await benchHosts('real sets', 'lxc', 'lxd'))('a set on %s', (host) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close());
  test('has its records on the objects, its state on the server, and releases its lock', async () => {
    await bench.expectSettled();
    expect((await live(bench)).config['user.gantry.own.default']).toContain('"w":1');
    expect(await notes(bench)).toEqual(['user.gantry.set.default']);
  });

  test('replaces a container with one of the new image with its name, settings and MAC address; the next plan is empty', async () => {
    bench.parts['container'] = containerWith('config: { user.a: one }\nmanage: { image: rebuild }\n');
    await bench.apply();
    const before = await live(bench);
    repack(bench, host);
    const done = await bench.apply();
    expect(done.stdout).toContain('container/c1 (rebuild)');
    const after = await live(bench);
    expect(after.created_at).not.toBe(before.created_at);
    expect(after.config['volatile.base_image']).not.toBe(before.config['volatile.base_image']);
    expect(after.config['volatile.eth0.hwaddr']).toBe(before.config['volatile.eth0.hwaddr']);
    expect(after.config['user.a']).toBe('one');
    expect((await bench.life()).status).toBe('Running');
    expect(((await bench.get('/1.0/containers')) as string[]).length).toBe(1);
    if (host !== 'sim') {
      const { pid } = await bench.life();
      expect(readFileSync(`/proc/${pid}/root/mark`, 'utf8')).toBe('two');
    }
    await bench.expectSettled();
  });

  test('prunes undeclared objects, and leaves no bookkeeping behind after a destroy', async () => {
    delete bench.parts['container'];
    expect((await bench.gantry('apply', '-y', '--prune', '--set', 'default')).code).toBe(4);
    await bench.apply('--prune', '--set', 'default', '--allow-destroy', '--prune-limit', '90%');
    expect(await bench.get('/1.0/containers')).toEqual([]);
    await bench.expectSettled();
    const gone = await bench.gantry('destroy', '-y');
    expect(gone.code, `${gone.stdout}\n${gone.stderr}`).toBe(0);
    expect(await notes(bench)).toEqual([]);
    expect(await bench.get('/1.0/profiles')).toEqual(['/1.0/profiles/default']);
  });
});
