// Declarations inside containers through the command line: files before the first start and after manual changes, commands that run
// once when due, snapshots. On real containers and a stock LXD; rebuilds on the simulation, which makes a second image quickly.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { recordsIn } from '../../../reconciler/core/ownership/owner-records.ts';
import { createClient, type Client } from '../../../server/client/client.ts';
import { filesOf, type Files } from '../../../server/client/files/container-files.ts';
import { cli } from '../../support/cli/io.ts';
import { containerWith, openBench, packImage, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';
import { contentOf } from '../../support/daemons/file-contents.ts';

describe.each(await benchHosts('the inside', 'lxc', 'lxd'))('the inside of a container on %s', (host) => {
  let bench: Bench;
  let client: Client;
  let count = 0;
  beforeAll(async () => {
    bench = await openBench(host);
    client = createClient(`unix://${bench.daemon.socketPath}`);
  });
  afterAll(async () => {
    await client.close();
    await bench.close();
  });

  /** A new container each time, so that a test can be repeated. */
  const declare = (...lines: readonly string[]): string => {
    const name = `i${(count += 1)}`;
    say(name, ...lines);
    return name;
  };
  const say = (name: string, ...lines: readonly string[]): void => {
    bench.parts['container'] = containerWith(`${lines.join('\n')}\n`).replace('name: c1', `name: ${name}`);
  };
  const filesIn = (name: string): Files => filesOf(client.http, name);
  const planText = async (): Promise<string> => (await bench.gantry('plan')).stdout;

  test('files exist before the first start; changed by hand they are restored; no longer declared they are removed', async () => {
    const tree = join(bench.dir, `tree${count}`);
    mkdirSync(join(tree, 'sub'), { recursive: true });
    writeFileSync(join(tree, 'page'), 'page\n');
    writeFileSync(join(tree, 'sub', 'run'), '#!/bin/sh\n', { mode: 0o755 });
    symlinkSync('page', join(tree, 'link'));
    const common = [
      'state: stopped',
      'files:',
      '  - { path: /etc/motd, content: "one\\n", mode: "0640", uid: 1000, gid: 100 }',
      '  - { path: /var/lib/own, type: directory, mode: "0700", uid: 5 }',
    ];
    const name = declare(
      ...common,
      `  - { path: /srv/tree, source: ${tree.split('/').at(-1)} }`,
      '  - { path: /etc/now, target: motd }',
    );
    await bench.apply();
    const files = filesIn(name);
    expect((await bench.life(name)).status).toBe('Stopped');
    expect(await contentOf(files, '/etc/motd')).toBe('640 1000:100 one\n');
    expect(await contentOf(files, '/srv/tree')).toBe('link page sub');
    expect(await contentOf(files, '/srv/tree/page')).toBe('644 0:0 page\n');
    expect(await contentOf(files, '/srv/tree/sub/run')).toBe('755 0:0 #!/bin/sh\n');
    expect(await contentOf(files, '/etc/now')).toMatch(/^-> (\/etc\/)?motd$/);
    await bench.expectSettled();

    bench.parts['container'] = bench.parts['container']?.replace('state: stopped\n', '') ?? '';
    await bench.settle();

    await files.delete('/etc/motd');
    await files.makeSymlink('/etc/motd', '/etc/passwd');
    await files.delete('/srv/tree/page');
    const drift = await bench.gantry('drift');
    expect(drift.code, drift.stderr).toBe(2);
    expect(drift.stdout).toContain('files["/etc/motd"]: is link to /etc/passwd');
    expect(drift.stdout).toContain('files["/srv/tree/page"]: is absent');
    expect(drift.stdout).toContain('changed outside since the last apply');
    await bench.apply();
    expect(await contentOf(files, '/etc/motd')).toBe('640 1000:100 one\n');
    expect(await contentOf(files, '/srv/tree/page')).toBe('644 0:0 page\n');
    await bench.expectSettled();

    // An undeclared file stays, and so does its directory.
    await files.makeDirectory('/srv/tree/own', { mode: 0o755 });
    say(name, 'files:', '  - { path: /etc/motd, content: "two\\n", mode: "0604" }');
    const plan = await planText();
    expect(plan).toContain('~ files["/etc/motd"].mode');
    expect(plan).toContain('- files["/srv/tree/sub/run"]');
    await bench.apply();
    expect(await contentOf(files, '/etc/motd')).toBe('604 0:0 two\n');
    expect(await contentOf(files, '/srv/tree')).toBe('own');
    await expect(files.read('/etc/now')).rejects.toThrow();
    await expect(files.read('/var/lib/own')).rejects.toThrow();
    await bench.expectSettled();
  });

  test('commands run once, again when their inputs change, or when their product is missing; a failure fails the object and is retried', async () => {
    // Simulated commands write no files.
    const made = host === 'sim' ? 'true' : 'echo x >> /var/made';
    const lines = (text: string, code: number): readonly string[] => [
      `files: [{ path: /etc/app.conf, content: "${text}" }]`,
      'exec:',
      `  - { name: first, command: "${made}", once: true }`,
      '  - { name: reload, command: [cat, /etc/app.conf], on_change: [/etc/app.conf] }',
      `  - { name: check, command: "echo looking; echo found $WORD; exit ${code}", environment: { WORD: nothing } }`,
      '  - { name: needless, command: [false], unless: "exit 0" }',
      '  - { name: there, command: [false], creates: /etc/app.conf }',
      '  - { name: odd, command: "exit 7", exit_code: [0, 7] }',
    ];
    const name = declare(...lines('one', 4));
    const failed = await bench.gantry('apply', '--auto-approve');
    const said = `${failed.stdout}${failed.stderr}`;
    expect(failed.code, said).toBe(1);
    expect(said).toContain('exec["check"] ended with code 4; its last output:\n  looking\n  found nothing');
    expect(said).toContain('exec["reload"] ended with code 0');
    // A run command is recorded for the next plan; a failed one is due again.
    const again = await planText();
    expect(again).toContain('exec["check"] runs: the set has not run it here');
    expect(again).not.toContain('exec["reload"]');
    say(name, ...lines('one', 0));
    const second = await bench.apply();
    expect(second.stderr).toContain('exec["needless"]: not needed because the command of unless succeeded');
    expect(second.stderr).not.toContain('exec["reload"]');
    await bench.expectSettled();
    say(name, ...lines('two', 0));
    const plan = await planText();
    expect(plan).toContain('exec["reload"] runs: files["/etc/app.conf"].content changes');
    expect(plan).not.toContain('exec["first"]');
    await bench.settle();
    if (host !== 'sim') expect(await contentOf(filesIn(name), '/var/made')).toBe('644 0:0 x\n');
    const object = (await bench.get(`/1.0/containers/${name}`)) as object;
    expect(Object.keys(recordsIn(object).get('default')?.ran ?? {}).toSorted()).toEqual([
      'check',
      'first',
      'needless',
      'odd',
      'reload',
    ]);
    // A replaced container has no such record.
    const replaced = await bench.apply('--replace', `container/${name}`);
    expect(replaced.stderr).toContain('exec["first"] ended with code 0');
    await bench.expectSettled();
  });

  test('a command after each start also runs when another command has started the container', async () => {
    const name = declare('exec: [{ name: boot, command: [true], on_start: true }]');
    await bench.settle();
    const restart = { action: 'restart', force: true, timeout: 10 };
    const answer = await bench.daemon.call('PUT', `/1.0/containers/${name}/state`, restart);
    await bench.daemon.call('GET', `${String(answer.body.operation)}/wait`);
    expect(await planText()).toContain('exec["boot"] runs: the container has started since then');
    await bench.settle();
  });

  test('snapshots are taken once, at the end, follow their expiry, and stay after their declaration is removed', async () => {
    const name = declare(
      'snapshots: { schedule: "@daily", expiry: 2w, named: [{ name: fresh, expires_at: 2098-01-01 }] }',
    );
    const run = await bench.apply();
    expect(run.stdout).toContain('+ snapshots["fresh"]');
    await bench.expectSettled();
    const read = (): Promise<{ expires_at: string }> =>
      bench.get(`/1.0/containers/${name}/snapshots/fresh`) as Promise<{ expires_at: string }>;
    expect(Date.parse((await read()).expires_at)).toBe(Date.parse('2098-01-01T00:00:00Z'));
    const { config } = (await bench.get(`/1.0/containers/${name}`)) as { config: Record<string, string> };
    expect(config).toMatchObject({ 'snapshots.schedule': '@daily', 'snapshots.expiry': '2w' });
    say(name, 'snapshots: [{ name: fresh, expires_at: 2099-01-01 }]');
    await bench.settle();
    expect(Date.parse((await read()).expires_at)).toBe(Date.parse('2099-01-01T00:00:00Z'));
    say(name, 'snapshots: [{ name: fresh, description: The first }]');
    if (host === 'lxd') {
      const refused = await bench.gantry('plan');
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining('snapshots["fresh"].description') as string,
      ]);
    } else {
      await bench.settle();
      // Attributes without a declaration stay.
      expect(await read()).toMatchObject({
        description: 'The first',
        expires_at: expect.stringContaining('2099') as string,
      });
    }
    say(name, 'snapshots: []');
    await bench.settle();
    expect((await read()).expires_at).toContain('2099');
  });

  test('an export with files has an empty plan', async () => {
    const binary = Buffer.from([0, 255, 1]).toString('base64');
    const name = declare(
      'files:',
      '  - { path: /etc/motd, content: "motd: $HOME\\n", mode: "0600" }',
      `  - { path: /etc/bytes, content_base64: ${binary} }`,
      '  - { path: /srv/own, type: directory }',
      '  - { path: /srv/link, target: own }',
    );
    await bench.apply();
    const target = join(bench.dir, `${name}.yaml`);
    const made = await cli([
      'export',
      `container/${name}`,
      '-o',
      target,
      '--host',
      `unix://${bench.daemon.socketPath}`,
    ]);
    expect(made.code, made.stderr).toBe(0);
    expect(readFileSync(target, 'utf8')).toContain(`content_base64: ${binary}`);
    bench.parts['container'] = readFileSync(target, 'utf8').replace(/^---\n/m, '');
    await bench.expectSettled();
  });
});

test('a container that is rebuilt of a new image has its files and runs its commands again', async () => {
  const bench = await openBench('sim');
  onTestFinished(() => bench.close());
  const policy = [
    'manage: { image: rebuild }',
    'files: [{ path: /etc/motd, content: hi }]',
    'exec: [{ name: setup, command: [cat, /etc/motd], once: true }]',
    'snapshots: [{ name: fresh }]',
  ];
  bench.parts['container'] = containerWith(`${policy.join('\n')}\n`);
  await bench.settle();
  packImage(bench.dir, 'next.tar.gz', 'next');
  bench.parts['image'] = (bench.parts['image'] ?? '').replace(/file: .*/, 'file: next.tar.gz');
  const run = await bench.apply();
  expect(run.stdout).toContain('container/c1 (rebuild)');
  const client = createClient(`unix://${bench.daemon.socketPath}`);
  onTestFinished(() => client.close());
  const files = filesOf(client.http, 'c1');
  expect(await contentOf(files, '/etc/motd')).toBe('644 0:0 hi');
  expect(await contentOf(files, '/etc/mark')).toContain('next');
  expect((await bench.get('/1.0/containers/c1/snapshots/fresh')) as object).toMatchObject({ name: 'fresh' });
  await bench.expectSettled();
});
