// A dry run predicts the daemon's answers: the same refusals in the same words, without a change of the daemon.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { containerWith, network, openBench, profileWith, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { countRequests, type CountingProxy } from '../../support/daemons/counting-proxy.ts';
import { repository } from '../../support/cli/programs.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { stockLxdMissing } from '../../support/hosts/stock-lxd.ts';
import { until } from '../../support/until.ts';

const env = { GANTRY_DAEMON_LIBRARY: join(repository, 'server', 'daemon', 'embedded.ts') };

let bench: Bench;
let proxy: CountingProxy;
beforeAll(async () => {
  bench = await openBench('sim');
  proxy = await countRequests(bench.daemon.socketPath);
});
afterAll(async () => {
  await proxy.close();
  await bench.close();
});

/** Through the proxy, to record the requests. */
async function gantry(verb: string, ...more: readonly string[]): Promise<CliRun> {
  writeFileSync(join(bench.dir, 'stack.yaml'), Object.values(bench.parts).join('---\n'));
  return cli([verb, '-f', join(bench.dir, 'stack.yaml'), '--host', proxy.host, ...more], { env });
}

const memory = (size: string): string =>
  profileWith('').replace('limits.memory: 64MiB', `limits.memory: ${size}, security.nesting: true`);

const collections = ['containers', 'profiles', 'networks', 'storage-pools', 'images', 'images/aliases', 'certificates'];

/** All objects that the daemon returns, with their ETags. */
async function shown(): Promise<string> {
  const lists = await Promise.all(collections.map((path) => bench.get(`/1.0/${path}`) as Promise<readonly string[]>));
  const server = await bench.daemon.call('GET', '/1.0');
  const objects = await Promise.all(lists.flat().map((path) => bench.daemon.call('GET', path)));
  return JSON.stringify([server.headers['etag'], objects.map(({ headers, metadata }) => [headers['etag'], metadata])]);
}

/** Runs `work` and proves that it only reads. */
async function untouched<T>(work: () => Promise<T>): Promise<T> {
  const before = await shown();
  const heard = await (bench.daemon as TestDaemon).listen('lifecycle,operation');
  proxy.requests.length = 0;
  const result = await work();
  expect(proxy.requests.length).toBeGreaterThan(0);
  expect(proxy.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
  // All earlier events have arrived when the next one arrives.
  await bench.daemon.call('PATCH', '/1.0/profiles/default', {});
  await heard.next(({ metadata }) => JSON.stringify(metadata).includes('profile-updated'));
  expect(heard.events.length).toBe(1);
  heard.close();
  expect(await shown()).toBe(before);
  return result;
}

interface Steps {
  readonly steps: readonly { readonly step: string; readonly verdict: string; readonly why?: string }[];
  readonly refused: number;
}

async function verdicts(...more: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const run = await gantry('plan', '--dry-run=server', '-o', 'json', ...more);
  const { dry_run: found } = JSON.parse(run.stdout) as { readonly dry_run: Steps };
  return Object.fromEntries(found.steps.map(({ step, verdict, why }) => [step, why ?? verdict]));
}

describe('a dry run on a copy of the daemon', () => {
  test('has no steps for an empty plan', async () => {
    const run = await untouched(() => gantry('plan', '--dry-run=server', '--detailed-exitcode'));
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout).toContain('Dry run: 0 would succeed.');
  });

  test('shows the refusals of the daemon, in its words, with the place in the manifest; the apply then fails with the same ones', async () => {
    const source = join(bench.dir, 'outer');
    mkdirSync(source);
    bench.parts['outer'] = `kind: storage_pool\nname: outer\ndriver: dir\nconfig: { source: ${source} }\n`;
    await bench.apply();
    bench.parts['pool2'] = `kind: storage_pool\nname: p2\ndriver: dir\nconfig:\n  source: ${source}/inner\n`;
    bench.parts['second'] = containerWith('devices: { root: { type: disk, path: /, pool: p2 } }\n').replace('c1', 'c2');
    bench.parts['third'] = containerWith('').replace('c1', 'c3');
    const tried = await untouched(() => gantry('apply', '--dry-run=server', '--auto-approve'));
    const message = `${source}/inner is where the storage pool outer is`;
    expect(tried.code).toBe(1);
    expect(tried.stderr).toContain(message);
    const line =
      Object.values(bench.parts)
        .join('---\n')
        .split('\n')
        .findIndex((text) => text.includes('/inner')) + 1;
    expect(tried.stderr).toContain(`stack.yaml:${line}:`);
    expect(tried.stdout).toMatch(/would be refused +storage_pool\/p2: create/);
    expect(tried.stdout).toMatch(/not reached +container\/c2: create \(storage_pool\/p2#create did not succeed\)/);
    expect(tried.stdout).toMatch(/would succeed +container\/c3: start/);
    expect(tried.stdout).toContain('Dry run: 2 would succeed, 1 would be refused, 2 not reached.');
    const real = await gantry('apply', '--auto-approve');
    expect(real.code).toBe(1);
    expect(real.stderr).toContain(message);
    expect(await bench.get('/1.0/containers')).toEqual(['/1.0/containers/c1', '/1.0/containers/c3']);
    delete bench.parts['pool2'];
    delete bench.parts['second'];
  });

  test('tries creations, live changes, restarts, replacements and deletions; the apply then does the predicted steps', async () => {
    bench.parts['profile'] = memory('96MiB');
    bench.parts['pool3'] = 'kind: storage_pool\nname: p3\ndriver: dir\n';
    bench.parts['volume'] = 'kind: storage_volume\nname: data\npool: p3\n';
    bench.parts['third'] = containerWith('devices: { root: { type: disk, path: /, pool: p3 } }\n').replace('c1', 'c3');
    const found = await untouched(() => verdicts('--allow-recreate'));
    expect(Object.keys(found).toSorted()).toEqual([
      'container/c1#restart',
      'container/c3#create',
      'container/c3#delete',
      'container/c3#start',
      'container/c3#stop',
      'profile/small#update',
      'storage_pool/p3#create',
      'storage_volume/p3/data#create',
    ]);
    expect(new Set(Object.values(found))).toEqual(new Set(['accepted']));
    const dry = await gantry('apply', '--dry-run=server', '--allow-recreate', '--detailed-exitcode');
    expect(dry.code, dry.stderr).toBe(2);
    await bench.apply('--allow-recreate');
    await bench.expectSettled();
    const gone = await untouched(() => gantry('destroy', '--dry-run=server'));
    expect(gone.code, gone.stderr).toBe(0);
    expect(gone.stdout).toMatch(/would succeed +image\/base: delete/);
  });

  test('checks an image before its upload, and reports waits and images of other servers as unpredictable', async () => {
    writeFileSync(join(bench.dir, 'broken.tar.gz'), 'no archive at all');
    const kept = { ...bench.parts };
    bench.parts['broken'] = 'kind: image\nname: broken\nfile: broken.tar.gz\n';
    bench.parts['fourth'] = containerWith(
      'manage: { wait: [{ exec: [/bin/true], timeout: 5s }, { ipv4: eth0, timeout: 5s }] }\n',
    ).replace('c1', 'c4');
    bench.parts['far'] =
      'kind: container\nname: c5\nprofiles: [small]\nstate: stopped\nsource: { type: image, server: https://images.invalid, protocol: simplestreams, alias: none }\n';
    bench.parts['sixth'] = containerWith(
      'files: [{ path: /etc/motd, content: hello }]\nexec: [{ name: setup, command: [/bin/true] }]\nsnapshots: [{ name: first }]\n',
    ).replace('c1', 'c6');
    const tried = await untouched(() => gantry('plan', '--dry-run=server'));
    expect(tried.code, tried.stdout).toBe(1);
    expect(tried.stdout).toMatch(/not tried +container\/c6: files \(the files of containers are not in the copy\)/);
    expect(tried.stdout).toMatch(/not tried +container\/c6: exec/);
    expect(tried.stdout).toMatch(/would succeed +container\/c6: snapshot/);
    expect(tried.stdout).toMatch(/would be refused +image\/broken: create/);
    expect(tried.stdout).toMatch(/not tried +container\/c4: wait \(only the container itself can tell\)/);
    expect(tried.stdout).toMatch(/would succeed +container\/c5: create/);
    const real = await gantry('apply', '--auto-approve', '--target', 'image/broken');
    expect(real.code).toBe(1);
    const why = /^ +(.*(?:archive|format|image).*)$/m.exec(real.stderr)?.[1] ?? 'nothing was said';
    expect(tried.stderr).toContain(why.trim().replace(/^.*?: /, ''));
    bench.parts = kept;
  });

  test('ends with the exit code of the apply: refused by a rule 4, locked 5, an outdated saved plan 3, a wrong argument 64', async () => {
    const kept = { ...bench.parts };
    bench.parts['container'] = containerWith('config: { user.x: 1 }\nmanage: { protect: true }\n');
    await bench.apply();
    bench.parts['container'] = containerWith(
      'devices: { root: { type: disk, path: /, pool: p3 } }\nmanage: { protect: true }\n',
    );
    expect((await untouched(() => gantry('apply', '--dry-run=server', '--allow-recreate'))).code).toBe(4);
    bench.parts['container'] = containerWith('config: { user.x: 2 }\n');
    const file = join(bench.dir, 'kept.plan');
    expect((await gantry('plan', '--out', file)).code).toBe(0);
    const dry = await cli(['apply', file, '--dry-run=server', '--host', proxy.host], { env });
    expect(dry.code, dry.stderr).toBe(0);
    expect(dry.stdout).toMatch(/would succeed +container\/c1: update/);
    await bench.daemon.call('PATCH', '/1.0/containers/c1', { config: { 'user.x': '9' } });
    expect((await cli(['apply', file, '--dry-run=server', '--host', proxy.host], { env })).code).toBe(3);
    expect((await cli(['lock', '--reason', 'a talk', '--host', proxy.host], { env })).code).toBe(0);
    const locked = await untouched(() => gantry('apply', '--dry-run=server'));
    expect(locked.code, locked.stderr).toBe(5);
    expect((await cli(['force-unlock', '-y', '--host', proxy.host], { env })).code).toBe(0);
    const wrong = await gantry('apply', '--dry-run=always');
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain('neither client (only the plan) nor server');
    bench.parts = kept;
    await bench.apply();
  });

  test('tries a rollback, too', async () => {
    const host = ['--host', proxy.host];
    const back = await untouched(() => cli(['rollback', '--dry-run=server', '--allow-recreate', ...host], { env }));
    expect(back.code, back.stderr).toBe(0);
    expect(back.stdout).toMatch(/would succeed +\S+: /);
    expect((await cli(['rollback', '--dry-run=never', ...host], { env })).code).toBe(64);
  });

  test('a dry run on a copy of the daemon on the client is only the plan, whatever was approved', async () => {
    bench.parts['profile'] = memory('72MiB');
    const run = await untouched(() => gantry('apply', '--dry-run=client', '--auto-approve', '--detailed-exitcode'));
    expect(run.code).toBe(2);
    expect(run.stdout).toContain('profile/small');
    expect(run.stdout).not.toContain('Dry run');
    const plan = await gantry('plan', '--dry-run=client');
    expect(plan.stdout).toBe(run.stdout);
  });

  test('has machine-readable output: a line a step, and a section of the plan as Markdown', async () => {
    const lines = (await gantry('apply', '--dry-run=server', '--json')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; trial?: { step: string; verdict: string }; dry_run?: object });
    expect(lines.flatMap(({ trial }) => trial ?? [])).toMatchObject([
      { step: 'profile/small#update', verdict: 'accepted' },
    ]);
    expect(lines.at(-1)).toMatchObject({ type: 'dry_run_summary', dry_run: { accepted: 1, refused: 0 } });
    const markdown = await gantry('plan', '--dry-run=server', '-o', 'markdown');
    expect(markdown.stdout).toContain('Dry run: 1 would succeed.');
    await bench.apply();
  });

  test('leaves nothing behind, wherever it is interrupted', async () => {
    bench.parts['profile'] = memory('80MiB');
    writeFileSync(join(bench.dir, 'stack.yaml'), Object.values(bench.parts).join('---\n'));
    const folder = join(bench.dir, 'temporary');
    mkdirSync(folder);
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = folder;
    try {
      const args = ['apply', '--dry-run=server', '-f', join(bench.dir, 'stack.yaml'), '--host', proxy.host];
      for (const afterMs of [0, 20, 60, 120, 1000]) {
        let timer: NodeJS.Timeout | undefined;
        const run = await cli(args, { env, interrupts: (interrupt) => (timer = setTimeout(interrupt, afterMs)) });
        clearTimeout(timer);
        expect([0, 130], run.stderr).toContain(run.code);
        await until(() => readdirSync(folder).length === 0);
      }
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
    expect(existsSync(join(repository, 'dev'))).toBe(false);
    expect(await bench.get(`/1.0/networks/${network}`)).toBeDefined();
  });
});

const noLxd = stockLxdMissing();
if (noLxd !== undefined) console.log(`Skipped: a dry run for a stock LXD: ${noLxd}`);

describe.skipIf(noLxd !== undefined)('a dry run for a stock LXD', () => {
  test('tries the changes on a gantryd with the contents of a real LXD, and does not change the LXD', async () => {
    const lxd = await openBench('lxd');
    const seen = await countRequests(lxd.daemon.socketPath);
    try {
      lxd.parts['profile'] = profileWith('').replace('64MiB', '96MiB');
      lxd.parts['volume'] = 'kind: storage_volume\nname: data\npool: p1\nconfig: { size: 1GiB }\n';
      lxd.parts['second'] = containerWith('').replace('c1', 'c2');
      writeFileSync(join(lxd.dir, 'stack.yaml'), Object.values(lxd.parts).join('---\n'));
      const etag = (await lxd.daemon.call('GET', '/1.0/profiles/small')).headers['etag'];
      const run = await cli(
        ['plan', '--dry-run=server', '-o', 'json', '-f', join(lxd.dir, 'stack.yaml'), '--host', seen.host],
        { env },
      );
      const { dry_run: found } = JSON.parse(run.stdout) as { readonly dry_run: Steps };
      expect(Object.fromEntries(found.steps.map(({ step, verdict }) => [step, verdict]))).toEqual({
        'profile/small#update': 'accepted',
        // A pool of this driver does not support a size.
        'storage_volume/p1/data#create': 'refused',
        'container/c2#create': 'accepted',
        'container/c2#start': 'accepted',
      });
      expect(run.code).toBe(1);
      expect(seen.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
      expect((await lxd.daemon.call('GET', '/1.0/profiles/small')).headers['etag']).toBe(etag);
    } finally {
      await seen.close();
      await lxd.close();
    }
  });
});
