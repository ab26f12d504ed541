// `gantry events`, `gantry wait` and `gantry preseed` as scripts use them, on the simulation and on a stock LXD; and the notes of an
// export about objects that it leaves out.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { containerWith, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';

describe.each(await benchHosts('events and waits', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close(), 120_000);
  const gantry = (...argv: readonly string[]): Promise<CliRun> =>
    cli([...argv, '--host', `unix://${bench.daemon.socketPath}`]);

  test('events prints the events of each object until it is stopped', async () => {
    for (const more of [[], ['--json']]) {
      let seen = '';
      let interrupt = (): void => {};
      const ended = cli(['events', '-f', '--host', `unix://${bench.daemon.socketPath}`, ...more], {
        interrupts: (listener) => (interrupt = listener),
        onStdout: (text) => {
          seen += text;
          if (/profile-updated.*\/1\.0\/profiles\/small/.test(seen)) interrupt();
        },
      });
      let isOver = false;
      void ended.finally(() => (isOver = true));
      for (let turn = 0; ; turn += 1) {
        if (isOver) break;
        await bench.daemon.call('PATCH', '/1.0/profiles/small', { description: `turn ${turn}` });
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect((await ended).code).toBe(130);
      if (more.length > 0) expect(JSON.parse(seen.split('\n')[0] ?? '')).toMatchObject({ type: 'lifecycle' });
    }
    expect((await gantry('events', '--for', '1s')).code).toBe(0);
    expect((await gantry('events', '--type', 'nonsense')).code).toBe(64);
    await bench.apply();
  });

  test('wait ends with 0 when the condition is met, with 6 and the reason when it is not met in time', async () => {
    const run = await gantry('wait', 'container/c1');
    expect([run.code, run.stdout], run.stderr).toEqual([0, 'container/c1 is ready\n']);
    expect((await gantry('wait', 'c1', '--for', 'running')).code).toBe(0);
    bench.parts = { ...bench.parts, container: containerWith('manage: { wait: [{ file: /never, timeout: 1s }] }\n') };
    writeFileSync(join(bench.dir, 'never.yaml'), bench.parts['container'] ?? '');
    const never = await gantry('wait', '-f', join(bench.dir, 'never.yaml'));
    expect([never.code, never.stderr]).toEqual([6, expect.stringContaining('the file /never did not come in 1 s')]);
    const late = await gantry('wait', 'c1', '--for', 'file=/never', '--timeout', '1s');
    expect([late.code, late.stderr]).toEqual([6, expect.stringContaining('not ready after --timeout 1s')]);
    expect((await gantry('wait', 'web/1')).code).toBe(64);
    expect((await gantry('wait', 'c1', '--for', 'tcp=lots')).code).toBe(64);
    expect((await gantry('wait', 'absent', '--for', 'running')).code).toBe(1);
  });

  test('preseed needs no confirmation and deletes nothing', async () => {
    const path = join(bench.dir, 'preseed.yaml');
    const preseed = (more: string): string =>
      `config: { images.auto_update_interval: 9 }\nnetworks: []\nprofiles: [{ name: seeded, config: { user.a: b${more} } }]\ncluster: null\n`;
    writeFileSync(path, preseed(', user.c: d'));
    expect((await gantry('preseed', path)).code).toBe(0);
    writeFileSync(path, preseed(''));
    const again = await gantry('preseed', path);
    expect(again.code, again.stderr).toBe(0);
    expect((await bench.get('/1.0/profiles/seeded')).config).toMatchObject({ 'user.a': 'b', 'user.c': 'd' });
    expect((await gantry('plan', path, '--detailed-exitcode')).code).toBe(0);
  });

  test('an export lists at its head the objects that it leaves out', async () => {
    const run = await gantry('export', 'container/c1');
    expect(run.stdout.split('---')[0]).toMatch(/commands \(exec:\), waits, snapshots/);
    expect(run.stdout.split('---')[0]).toContain('the set default has written');
  });
});
