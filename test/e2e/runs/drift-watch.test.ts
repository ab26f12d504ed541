// Drift in real time: a watch reports each change, its author and time, and the return to the declared state; it only reads, and
// reconnects to a restarted server. Later commands use its findings.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { type TestDaemon } from '../../support/daemons/daemon.ts';
import { containerWith, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';
import { countRequests } from '../../support/daemons/counting-proxy.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

interface Line {
  readonly type: string;
  readonly '@timestamp': string;
  readonly drifted?: number;
  readonly change?: { readonly address: string; readonly differences: readonly { readonly path: string }[] };
  readonly resolved?: { readonly address: string; readonly paths: readonly string[] };
  readonly event?: { readonly addr: string };
  readonly seen?: readonly { readonly action: string; readonly at: string; readonly by?: string }[];
  readonly connection?: string;
}

interface Watching {
  readonly lines: Line[];
  readonly stop: () => Promise<CliRun>;
}

describe.each(await benchHosts('watching drift', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  const state = tempFolder('gantry-watch-');
  const env = { XDG_STATE_HOME: state };
  const file = (): string => join(bench.dir, 'stack.yaml');
  beforeAll(async () => {
    bench = await openBench(host);
    bench.parts = { ...bench.parts, container: containerWith('config: { user.note: a }\n') };
    await bench.apply();
  });
  afterAll(() => bench.close());
  const patch = async (path: string, config: object): Promise<void> => {
    expect((await bench.daemon.call('PATCH', path, { config })).status).toBeLessThan(300);
  };
  const start = async (at: string, ...more: readonly string[]): Promise<Watching> => {
    const lines: Line[] = [];
    let interrupt = (): void => {};
    const onStdout = (text: string): void => {
      for (const line of text.trim().split('\n')) lines.push(JSON.parse(line) as Line);
    };
    const interrupts = (stop: () => void): void => void (interrupt = stop);
    const run = cli(['drift', file(), '--watch', '-o', 'json', '--host', at, ...more], { env, onStdout, interrupts });
    await until(() => lines.some(({ type }) => type === 'drift_summary'));
    return {
      lines,
      stop: () => {
        interrupt();
        return run;
      },
    };
  };
  const next = async (watching: Watching, fits: (line: Line) => boolean): Promise<Line> => {
    await until(() => watching.lines.some(fits));
    const found = watching.lines.find(fits);
    if (found === undefined) throw new Error('it was there');
    watching.lines.splice(0, watching.lines.indexOf(found) + 1);
    return found;
  };

  test('reports changes with author and time, and the return to the declared state; all requests only read', async () => {
    const proxy = await countRequests(bench.daemon.socketPath);
    const watching = await start(proxy.host);
    expect(watching.lines.at(-1)?.drifted).toBe(0);
    // A first look may come before the connection for events is open; the next look then finds no change.
    await patch('/1.0/containers/c1', { 'user.note': 'b' });
    const drifted = await next(watching, ({ type }) => type === 'resource_drift');
    expect(drifted.change).toMatchObject({
      address: 'container/c1',
      what: 'differs',
      differences: [{ path: 'config.user.note', cause: 'outside', live: 'b', declared: 'a' }],
    });
    const changedMs = Date.now();
    await patch('/1.0/profiles/small', { 'limits.memory': '96MiB' });
    const other = await next(watching, ({ change }) => change?.address === 'profile/small');
    const tookMs = Date.parse(other['@timestamp']) - changedMs;
    console.log(`drift was reported ${tookMs} ms after the request for the change (${host})`);
    expect(other.seen?.at(-1)).toMatchObject({ action: 'profile-updated' });
    expect(other.seen?.at(-1)?.by).toMatch(/on the server itself$/);
    expect(Date.parse(other.seen?.at(-1)?.at ?? '')).not.toBeNaN();
    await patch('/1.0/profiles/small', { 'limits.memory': '64MiB' });
    await patch('/1.0/containers/c1', { 'user.note': 'a' });
    const again = await next(watching, ({ resolved }) => resolved?.address === 'container/c1');
    expect(again.resolved?.paths).toEqual(['config.user.note']);
    await until(() => watching.lines.some(({ type }) => type === 'drift_summary'));
    const run = await watching.stop();
    expect(run.code).toBe(130);
    await proxy.close();
    expect(proxy.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
  });

  test('containers that are stopped, created and deleted are reported, and a later look has author and time', async () => {
    const watching = await start(`unix://${bench.daemon.socketPath}`);
    const stopped = await bench.daemon.call('PUT', '/1.0/containers/c1/state', {
      action: 'stop',
      force: true,
      timeout: 30,
    });
    await bench.get(`${String(stopped.body.operation)}/wait`);
    const power = await next(watching, ({ change }) => change?.address === 'container/c1');
    expect(power.change?.differences).toMatchObject([{ path: 'state', live: 'stopped' }]);
    expect((await bench.daemon.call('DELETE', '/1.0/images/aliases/base')).status).toBeLessThan(300);
    const gone = await next(watching, ({ change }) => change?.address === 'image_alias/base');
    expect(gone.change).toMatchObject({ what: 'missing' });
    expect((await watching.stop()).code).toBe(130);
    const later = await cli(['drift', file(), '--host', `unix://${bench.daemon.socketPath}`], { env });
    expect(later.code).toBe(2);
    expect(later.stdout).toMatch(/# seen: (container|instance)-(stopped|shutdown) by .* at \d{4}-/);
    const folder = join(state, 'gantry', 'seen');
    expect(readFileSync(join(folder, readdirSync(folder)[0] ?? ''), 'utf8')).toContain('"container/c1"');
    // The next drift does not report a repair by an apply.
    const healed = await cli(['apply', file(), '-y', '--host', `unix://${bench.daemon.socketPath}`], { env });
    expect(healed.code, healed.stderr).toBe(0);
    await patch('/1.0/containers/c1', { 'user.note': 'c' });
    const unseen = await cli(['drift', file(), '--host', `unix://${bench.daemon.socketPath}`], { env });
    expect([unseen.code, unseen.stdout]).toEqual([2, expect.not.stringContaining('# seen')]);
    await bench.apply();
  });

  test('gantry run repairs a change after its event', async () => {
    let interrupt = (): void => {};
    const interrupts = (stop: () => void): void => void (interrupt = stop);
    const run = cli(['run', file(), '-y', '--host', `unix://${bench.daemon.socketPath}`], { env, interrupts });
    await patch('/1.0/profiles/small', { 'limits.memory': '80MiB' });
    const memory = async (): Promise<unknown> =>
      ((await bench.get('/1.0/profiles/small')) as { config: Record<string, string> }).config['limits.memory'];
    await until(async () => (await memory()) === '64MiB');
    interrupt();
    expect((await run).code).toBe(0);
  });

  test.skipIf(host === 'lxd')('reconnects after the server was unreachable', async () => {
    const watching = await start(`unix://${bench.daemon.socketPath}`);
    await (bench.daemon as TestDaemon).restart(async () => {
      await next(watching, ({ connection }) => connection === 'lost');
    });
    await patch('/1.0/profiles/small', { 'limits.memory': '96MiB' });
    await until(() => watching.lines.some(({ change }) => change?.address === 'profile/small'));
    await until(() => watching.lines.some(({ connection }) => connection === 'back'));
    await bench.apply();
    await until(() => watching.lines.some(({ resolved }) => resolved?.address === 'profile/small'));
    expect((await watching.stop()).code).toBe(130);
  });

  test.skipIf(host === 'lxd')('ends with the exit codes of drift after --for, and prints a sentence', async () => {
    const words = ['drift', file(), '--watch', '--for', '1s', '--host', `unix://${bench.daemon.socketPath}`];
    const none = await cli(words, { env });
    expect([none.code, none.stdout]).toEqual([0, expect.stringContaining('Watching for changes.')]);
    await patch('/1.0/containers/c1', { 'user.note': 'd' });
    const some = await cli(words, { env });
    expect([some.code, some.stdout]).toEqual([2, expect.stringContaining('user.note: is "d", declared "a"')]);
    expect((await cli([...words, '--no-exit-code'], { env })).code).toBe(0);
    const fleet = join(bench.dir, 'fleet.hosts');
    const two = ['a', 'b'].map((name) => `  - { name: ${name}, address: "unix:///nowhere/${name}" }\n`);
    writeFileSync(fleet, `kind: hosts\nhosts:\n${two.join('')}`);
    const several = await cli(['drift', file(), '--watch', '--hosts', fleet, '--for', '1s'], { env });
    expect([several.code, several.stderr]).toEqual([7, expect.stringMatching(/^a \| unreachable: .*retrying$/m)]);
    expect((await cli([...words, '-o', 'markdown'], { env })).code).toBe(64);
    expect((await cli([...words, '--interval', '1ms'], { env })).code).toBe(64);
    expect((await cli(['drift', file(), '--watch', '--host', 'unix:///nowhere/socket'], { env })).code).toBe(7);
    await bench.apply();
  });
});
