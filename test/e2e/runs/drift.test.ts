// Drift: a change outside the manifests is found, distinguished from declarations that are not applied yet, ignored on request, and
// never modified: every request is a GET.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { containerWith, openBench, profileWith, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';
import { isLongRun } from '../../support/left-out.ts';
import { countRequests } from '../../support/daemons/counting-proxy.ts';

interface Report {
  readonly objects: readonly {
    readonly address: string;
    readonly what: string;
    readonly differences: readonly { readonly path: string; readonly cause: string; readonly live?: unknown }[];
  }[];
  readonly undeclared: readonly string[];
}

describe.each(await benchHosts('drift', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  /** What only concerns gantry is shown on one server; a long run shows it on both. */
  const onOne = test.skipIf(host === 'lxd' && !isLongRun);
  let original: Bench['parts'];
  const drift = (...more: readonly string[]): Promise<CliRun> => bench.gantry('drift', ...more);
  const report = async (...more: readonly string[]): Promise<Report> =>
    JSON.parse((await drift('-o', 'json', ...more)).stdout) as Report;
  beforeAll(async () => {
    bench = await openBench(host);
    bench.parts = {
      ...bench.parts,
      container: containerWith('config: { user.note: a, environment.DB_PASSWORD: first }\n'),
    };
    original = bench.parts;
    await bench.apply();
  });
  afterAll(() => bench.close());
  const patch = async (config: object): Promise<void> => {
    expect((await bench.daemon.call('PATCH', '/1.0/containers/c1', { config })).status).toBeLessThan(300);
  };

  test('distinguishes outside changes from declarations that are not applied yet, shows no secret, and only reads', async () => {
    const none = await drift();
    expect([none.code, none.stdout]).toEqual([0, expect.stringContaining('No drift: all ')]);
    await patch({ 'user.note': 'b', 'environment.DB_PASSWORD': 'second' });
    bench.parts = { ...original, profile: profileWith('').replace('64MiB', '96MiB') };
    const proxy = await countRequests(bench.daemon.socketPath);
    const run = await cli(['drift', '-f', join(bench.dir, 'stack.yaml'), '--host', proxy.host]);
    await proxy.close();
    expect(proxy.requests.length).toBeGreaterThan(3);
    expect(proxy.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
    expect(run.code).toBe(2);
    const text = await drift();
    expect(text.code, text.stderr).toBe(2);
    expect(text.stdout).toContain('user.note: is "b", declared "a"  # changed outside since the last apply');
    expect(text.stdout).toContain('# the manifest changed and was not applied');
    expect(text.stdout).not.toMatch(/first|second/);
    const plan = await bench.gantry('plan', '-o', 'json');
    const { resource_drift: drifted } = JSON.parse(plan.stdout) as { resource_drift: readonly object[] };
    expect(drifted).toMatchObject([
      {
        address: 'container/c1',
        type: 'container',
        change: { actions: ['update'], before: null, after: { config: { 'user.note': 'b' } } },
        paths: ['config.environment.DB_PASSWORD', 'config.user.note'],
      },
    ]);
    expect(plan.stdout).not.toMatch(/first|second/);
    const { objects } = await report();
    expect(objects.map(({ address }) => address)).toEqual(['profile/small', 'container/c1']);
    expect(objects.flatMap(({ differences }) => differences.map(({ path, cause }) => `${path} ${cause}`))).toEqual([
      'config.limits.memory manifest',
      'config.environment.DB_PASSWORD outside',
      'config.user.note outside',
    ]);
    const markdown = await drift('-o', 'markdown');
    expect(markdown.stdout).toContain('| <code>container/c1</code> | <code>config.user.note</code> |');
    expect(markdown.stdout).not.toMatch(/first|second/);
    const lines = (await drift('--json')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      'version',
      'resource_drift',
      'resource_drift',
      'drift_summary',
    ]);
    expect((await drift('--no-exit-code')).code).toBe(0);
    bench.parts = original;
    await bench.apply();
    expect((await drift()).code).toBe(0);
  });

  onOne('hides ignored differences until the rule expires', async () => {
    await patch({ 'user.note': 'c' });
    for (const rule of [
      'config.user.*',
      'container/c1',
      'container/c*.config.user.note',
      'config.user.note@2099-01-31',
    ])
      expect((await drift('--ignore', rule)).code, rule).toBe(0);
    const ended = await drift('--ignore', 'config.user.note@2020-01-31');
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('ended on 2020-01-31')]);
    expect((await drift('--ignore', 'config.user.note@soon')).code).toBe(64);
    expect((await drift('-o', 'xml')).code).toBe(64);
    await bench.apply();
  });

  onOne('lists missing objects, stopped containers, and changes of objects without a declaration', async () => {
    await bench.daemon
      .call('PUT', '/1.0/containers/c1/state', { action: 'stop', force: true, timeout: 30 })
      .then((answer) => bench.get(`${String(answer.body.operation)}/wait`));
    expect((await report()).objects).toMatchObject([
      { address: 'container/c1', what: 'differs', differences: [{ path: 'state', live: 'stopped' }] },
    ]);
    await bench.apply();
    await patch({ 'user.note': 'd' });
    const { container: _container, ...rest } = original;
    bench.parts = rest;
    const left = await report();
    expect(left.undeclared).toEqual(['container/c1']);
    expect(left.objects).toMatchObject([
      { address: 'container/c1', what: 'outside', differences: [{ path: 'config.user.note', cause: 'outside' }] },
    ]);
    bench.parts = { ...original, more: 'kind: profile\nname: absent\n' };
    await patch({ 'user.note': 'a' });
    expect((await report()).objects).toMatchObject([{ address: 'profile/absent', what: 'missing' }]);
    bench.parts = original;
    rmSync(join(bench.dir, 'stack.yaml'));
    expect((await cli(['drift', join(bench.dir, 'stack.yaml')])).code).toBe(1);
  });

  onOne('a broken manifest and an unreachable server are errors, not drift', async () => {
    bench.parts = { ...original, more: 'kind: boat\n' };
    expect((await drift()).code).toBe(1);
    bench.parts = original;
    await drift();
    expect(readFileSync(join(bench.dir, 'stack.yaml'), 'utf8')).toContain('kind: container');
    const gone = await cli(['drift', join(bench.dir, 'stack.yaml'), '--host', 'unix:///nowhere/socket']);
    expect(gone.code).toBe(7);
  });
});
